"""How profiles come to be: points, fits, profiling runs, and what running attempts teach."""
