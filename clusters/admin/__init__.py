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
from clusters.admin.power import PowerBreachAdmin, PowerBudgetAdmin, PowerStateAdmin
from clusters.admin.rights import GpuQuotaAdmin, JoinTokenAdmin
from clusters.admin.telemetry import BootAdmin, GpuCounterAdmin, SampleMinuteAdmin

__all__ = [
    "BootAdmin",
    "CarbonHourAdmin",
    "CarbonSeriesAdmin",
    "ClusterAdmin",
    "GpuAdmin",
    "GpuCounterAdmin",
    "GpuQuotaAdmin",
    "GpuTypeAdmin",
    "JoinTokenAdmin",
    "NodeAdmin",
    "PartitionAdmin",
    "PowerBreachAdmin",
    "PowerBudgetAdmin",
    "PowerStateAdmin",
    "RackAdmin",
    "SampleMinuteAdmin",
    "SwitchAdmin",
    "TariffAdmin",
    "TariffHourAdmin",
    "WatchAdmin",
]
