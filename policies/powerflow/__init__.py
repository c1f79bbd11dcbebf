"""Elastic policies: GPU counts and clocks per job, under a power budget."""
