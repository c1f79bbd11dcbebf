"""A power budget kept on a running service."""
