"""Bytes that tenants keep: archives on their way to nodes, artifacts on their way back."""
