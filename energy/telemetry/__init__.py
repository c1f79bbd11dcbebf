"""Readings of the GPUs from the wire to the tables: taken, digested, rolled up, forgotten."""
