"""The wind tunnel: worlds on which any policy can be tried, faster than real time."""
