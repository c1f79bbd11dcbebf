"""Synergy: CPUs and memory by sensitivity, GPUs by any ordering."""
