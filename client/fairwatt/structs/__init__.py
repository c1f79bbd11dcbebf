"""Shapes of what is sent and answered; a test compares them with the published schema."""
