"""What the API costs."""
