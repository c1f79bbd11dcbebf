"""The fault campaign: a stack of its own, good clients, faults drawn by seed, and a checker."""
