"""The public data that experiments read: where each file comes from, and how to get it."""
