"""Predicted against actual cost on a running service."""
