"""Scenarios: small TOML files that say which world is run, under which policies."""
