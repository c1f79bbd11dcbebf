"""Energy in the admin, to read, and nodes with what they draw."""

from energy.admin import ledger, nodes, power, telemetry

__all__ = ["ledger", "nodes", "power", "telemetry"]
