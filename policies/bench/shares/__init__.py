"""CPUs and memory by sensitivity: what jobs do with them, and who has how much on which node."""
