"""Rows of one cluster become a snapshot."""
