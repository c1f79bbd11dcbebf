"""Attempts on this host: started, watched, changed in place and ended."""
