"""How well the simulator predicts the service."""
