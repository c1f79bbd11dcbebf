"""How well the simulator foretells the service."""
