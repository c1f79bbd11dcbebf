"""Writes that callers ask for, one function per action."""

from whatif.services.forecasts import forecast_request
from whatif.services.simulations import simulation_cancel, simulation_create

__all__ = ["forecast_request", "simulation_cancel", "simulation_create"]
