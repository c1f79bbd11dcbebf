"""Experiments, calibration and benchmarks: nothing that the service needs."""
