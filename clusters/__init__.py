"""The machines: clusters, how they are cut, nodes, GPUs and who may join them."""
