"""Readers of public traces and of our own; every reader says which rows it left out, and why."""
