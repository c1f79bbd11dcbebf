"""Energy in the admin, to read."""

from energy.admin import ledger, power, telemetry

__all__ = ["ledger", "power", "telemetry"]
