"""ANDREAS (2021)."""
