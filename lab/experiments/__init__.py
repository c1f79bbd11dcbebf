"""Published experiments, run again with their settings."""
