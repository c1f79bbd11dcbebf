"""Programs beside the product: experiments, calibration, benchmarks, and the data they read."""
