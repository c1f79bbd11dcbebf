"""What benchmarks of a running service share: servers, nodes, and waiting that ends."""
