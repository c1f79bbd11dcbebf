"""Everything a run needs to know about its world, and nothing about the policy."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from policies.contract.columns import F64
from policies.contract.snapshot import ProfileTable, TenantTable
from policies.pricing.curve import PriceCurve
from policies.pricing.tariff import Tariff
from simulator.budgets import Allowance
from simulator.costs import Costs
from simulator.machines import Machines
from simulator.workload import Workload

Outage = tuple[float, int, float]
"""When a node fails, which, and when it is back."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Setting:
    """`believed_work` is what policies see of the jobs' work; nan where they know nothing.

    With `believed_price` they see that of the future, and learn a price once it is in force. Where
    `price` is of a day-ahead market in `market_timezone`, they see what it has published.
    """

    jobs: Workload
    tenants: TenantTable
    tenant_names: tuple[str, ...]
    machines: Machines
    believed_work: F64
    profiles: ProfileTable
    believed_profiles: ProfileTable
    costs: Costs = field(default_factory=Costs)
    outages: Sequence[Outage] = ()
    origin_s: float
    seed: int = 0
    first_seed: int = 0
    """Of the first round that a policy sees, where `seed` is 0; each later round has the next."""
    pue: float = 1.0
    power_budget_w: float = math.inf
    allowance: Allowance | None = None
    price: PriceCurve | None = None
    believed_price: PriceCurve | None = None
    market_timezone: str | None = None
    carbon: PriceCurve | None = None
    tariff: Tariff | None = None
    """Whose demand charge policies see, with the peak metered so far; energy costs `price`."""
    peak_w: float = 0.0
    """What was metered in this month before the run, PUE included."""
    empty_nodes_off: bool = False
    """Whether a node without a job counts as off, at once and for as long as it has none."""
    power_off: bool = False
    """Whether policies may switch nodes off that have been empty for `min_idle_s`."""
    min_idle_s: float = 600.0

    def first_types(self) -> list[int]:
        """The first GPU type that every job allows: the one its estimate is for."""
        types = range(len(self.machines.gpu_types))
        return [
            next((kind for kind in types if mask >> kind & 1), 0)
            for mask in self.jobs.gpu_types.tolist()
        ]


def plain_setting(
    jobs: Workload,
    machines: Machines,
    *,
    tenant_names: Sequence[str] = ("all",),
    costs: Costs | None = None,
    outages: Sequence[Outage] = (),
    seed: int = 0,
) -> Setting:
    """Jobs without profiles whose run times are known, and tenants without limits."""
    kinds = len(machines.gpu_types)
    none = ProfileTable.none(kinds)
    return Setting(
        jobs=jobs,
        tenants=unlimited_tenants(len(tenant_names), kinds),
        tenant_names=tuple(tenant_names),
        machines=machines,
        believed_work=jobs.work,
        profiles=none,
        believed_profiles=none,
        costs=costs or Costs(),
        outages=outages,
        origin_s=float(jobs.submitted_s[0]) if len(jobs) else 0.0,
        seed=seed,
    )


def unlimited_tenants(count: int, gpu_types: int) -> TenantTable:
    return TenantTable.of(
        id=np.arange(count),
        quota_by_type=np.full((count, gpu_types), -1),
        used_by_type=np.zeros((count, gpu_types)),
    )
