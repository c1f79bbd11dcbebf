"""Tariffs and carbon series over HTTP."""
