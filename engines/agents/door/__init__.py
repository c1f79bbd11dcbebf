"""The agents' own door: an asynchronous process that hears many nodes at once and rings them."""
