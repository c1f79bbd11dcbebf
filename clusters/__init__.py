"""The machines: clusters, nodes, GPUs, tariffs and who may join them."""
