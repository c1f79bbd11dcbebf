"""Tables of the machines, one file per subject."""

from clusters.models.cluster import Cluster, Partition, Rack, Switch, Watch
from clusters.models.energy import CarbonHour, CarbonSeries, Tariff, TariffHour
from clusters.models.hardware import Gpu, GpuType, JoinToken, Node
from clusters.models.power import PowerBreach, PowerBudget, PowerState
from clusters.models.quota import GpuQuota
from clusters.models.telemetry import Boot, GpuCounter, Sample, SampleInbox, SampleMinute

__all__ = [
    "Boot",
    "CarbonHour",
    "CarbonSeries",
    "Cluster",
    "Gpu",
    "GpuCounter",
    "GpuQuota",
    "GpuType",
    "JoinToken",
    "Node",
    "Partition",
    "PowerBreach",
    "PowerBudget",
    "PowerState",
    "Rack",
    "Sample",
    "SampleInbox",
    "SampleMinute",
    "Switch",
    "Tariff",
    "TariffHour",
    "Watch",
]
