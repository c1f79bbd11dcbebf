"""Tables of energy and money, one file per subject."""

from energy.models.ledger import LedgerRow, Meter
from energy.models.power import PowerBreach, PowerBudget, PowerState
from energy.models.telemetry import Boot, GpuCounter, Sample, SampleInbox, SampleMinute

__all__ = [
    "Boot",
    "GpuCounter",
    "LedgerRow",
    "Meter",
    "PowerBreach",
    "PowerBudget",
    "PowerState",
    "Sample",
    "SampleInbox",
    "SampleMinute",
]
