"""A day of a small site, as rows: machines, prices, people, work, and what the GPUs drew."""
