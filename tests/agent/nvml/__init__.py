"""A driver library of our own, so that the real NVML path runs where there is no GPU."""
