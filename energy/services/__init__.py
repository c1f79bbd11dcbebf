"""Writes of the energy room."""
