"""What GPUs draw and how fast attempts go, and the clocks and caps that are set."""
