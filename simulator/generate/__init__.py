"""Generated workloads: what a cluster's jobs look like, and how they arrive."""
