"""Tables of the machines, one file per subject."""

from clusters.models.cluster import Cluster, Partition, Rack, Switch, Watch
from clusters.models.energy import CarbonHour, CarbonSeries, Tariff, TariffHour
from clusters.models.hardware import Gpu, GpuType, JoinToken, Node
from clusters.models.quota import GpuQuota

__all__ = [
    "CarbonHour",
    "CarbonSeries",
    "Cluster",
    "Gpu",
    "GpuQuota",
    "GpuType",
    "JoinToken",
    "Node",
    "Partition",
    "Rack",
    "Switch",
    "Tariff",
    "TariffHour",
    "Watch",
]
