"""What energy costs over time: tariffs, curves, peaks, money."""
