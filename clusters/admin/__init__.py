"""The machines for operators: every write goes through the services, and is audited there."""

from clusters.admin.cluster import (
    ClusterAdmin,
    PartitionAdmin,
    RackAdmin,
    SwitchAdmin,
    WatchAdmin,
)
from clusters.admin.energy import (
    CarbonHourAdmin,
    CarbonSeriesAdmin,
    TariffAdmin,
    TariffHourAdmin,
)
from clusters.admin.hardware import GpuAdmin, GpuTypeAdmin, NodeAdmin
from clusters.admin.rights import GpuQuotaAdmin, JoinTokenAdmin

__all__ = [
    "CarbonHourAdmin",
    "CarbonSeriesAdmin",
    "ClusterAdmin",
    "GpuAdmin",
    "GpuQuotaAdmin",
    "GpuTypeAdmin",
    "JoinTokenAdmin",
    "NodeAdmin",
    "PartitionAdmin",
    "RackAdmin",
    "SwitchAdmin",
    "TariffAdmin",
    "TariffHourAdmin",
    "WatchAdmin",
]
