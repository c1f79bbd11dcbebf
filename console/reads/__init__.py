"""Reads that pages show: sums and pages of rows, never whole lists."""
