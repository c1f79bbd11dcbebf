"""Figures, each printed as one JSON line; `make bench` runs them all, `make bench NAME=x` one."""
