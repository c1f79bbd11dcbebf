"""AnalySIM (ICDE 2021)."""
