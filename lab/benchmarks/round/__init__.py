"""What one round costs."""
