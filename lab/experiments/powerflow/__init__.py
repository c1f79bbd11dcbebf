"""PowerFlow-style."""
