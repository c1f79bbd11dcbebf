"""Synergy (OSDI 2022)."""
