"""Carrying a plan out against fresh rows."""
