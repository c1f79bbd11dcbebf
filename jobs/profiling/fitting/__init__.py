"""Models of throughput, power and sensitivity fitted to measured points; pure, as `policies` is."""
