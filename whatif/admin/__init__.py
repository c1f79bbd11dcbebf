"""What if, for operators: simulations, forecasts, and power budgets with what they would do."""

from whatif.admin import forecasts, power_budgets, simulations

__all__ = ["forecasts", "power_budgets", "simulations"]
