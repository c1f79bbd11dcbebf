"""Commands about who did what."""
