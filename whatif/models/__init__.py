"""Tables of simulations and forecasts."""

from whatif.models.forecast import Forecast, ForecastJob
from whatif.models.simulation import Simulation, SimulationRun
from whatif.models.state import LIVE, WorkState

__all__ = ["LIVE", "Forecast", "ForecastJob", "Simulation", "SimulationRun", "WorkState"]
