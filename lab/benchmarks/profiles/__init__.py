"""How well a profile predicts what was never measured."""
