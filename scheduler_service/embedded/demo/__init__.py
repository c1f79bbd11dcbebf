"""A mixed workload on the demo cluster, told as it happens."""
