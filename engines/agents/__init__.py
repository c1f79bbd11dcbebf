"""The service's half of the agent protocol: what nodes report, and what should run on them."""
