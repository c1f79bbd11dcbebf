"""The runs of the frontier: which policies, on which workload and window, knowing how much."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from lab.experiments.frontier import openb, philly
from lab.experiments.frontier.world import (
    MARKET_TIMEZONE,
    TENANTS,
    FrontierWorld,
    begins_s,
    carbon,
    price,
)
from lab.experiments.powerflow import settings
from lab.experiments.powerflow.settings import COSTS
from simulator.prices import noisy
from simulator.setting import Setting, unlimited_tenants

WorkloadName = Literal["philly", "openb"]
WORLDS: dict[WorkloadName, Callable[[int], FrontierWorld]] = {
    "philly": philly.world,
    "openb": openb.world,
}
WINDOWS: dict[WorkloadName, tuple[int, ...]] = {
    "philly": tuple(range(12)),
    "openb": tuple(range(1, 12, 2)),
}
PUE = 1.3
ETAS = (0.4, 0.7, 1.0)
WAIT_PRICES_PER_H = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
PRICE_NOISE = 0.3
WORK_FACTORS = (0.5, 2.0)


class Method(NamedTuple):
    """A policy of the registry; an elastic one chooses how many GPUs a job has."""

    policy: str
    parameters: dict[str, Any]
    elastic: bool = False
    eta: float = 0.0
    """Its power budget, as a share of the most that the cluster draws; 0 is none."""


def dial(wait_price_per_h: float) -> str:
    """The method that is fairwatt at a price of waiting."""
    return f"fairwatt {wait_price_per_h:g}"


_CLASSIC = (
    "fifo", "fifo-backfill", "conservative-backfill", "priority", "edf", "sjf", "srtf", "las",
    "ftf", "fair-share", "gandiva",
)  # fmt: skip
OTHERS: dict[str, Method] = {
    **{name: Method(name, {"placement": "consolidate"}) for name in _CLASSIC},
    "synergy": Method("synergy", {}),
    "afs": Method("afs", {}, elastic=True),
    **{f"powerflow {eta:g}": Method("powerflow", {}, elastic=True, eta=eta) for eta in ETAS},
    "andreas": Method("andreas", {}, elastic=True),
    "first-principle": Method("first-principle", {}, elastic=True),
}
DIAL: dict[str, Method] = {
    dial(cost): Method("fairwatt", {"wait_price_per_h": cost}, elastic=True)
    for cost in WAIT_PRICES_PER_H
}
METHODS = {**OTHERS, **DIAL}
DEFAULT_DIAL = dial(0.1)


@dataclass(frozen=True, slots=True)
class FrontierCase:
    """One run: all tenants, or `tenant` alone on its share; `misled` about prices and work."""

    workload: WorkloadName
    window: int
    method: str
    tenant: int = -1
    misled: bool = False

    def name(self) -> str:
        alone = f", tenant {self.tenant} alone" if self.tenant >= 0 else ""
        misled = ", misled" if self.misled else ""
        return f"{self.method} ({self.workload}, window {self.window}{alone}{misled})"


def setting_of(case: FrontierCase) -> Setting:
    world, method = WORLDS[case.workload](case.window), METHODS[case.method]
    if case.tenant >= 0:
        world = _alone(world, case.tenant)
    jobs, tenants = world.jobs, int(world.jobs.tenant.max(initial=0)) + 1
    if method.elastic:
        jobs = jobs.but(gpus=np.ones(len(jobs)), max_gpus=world.most_gpus)
    real_price = price(case.window)
    random = np.random.default_rng([case.window, 7])
    factor = random.uniform(*WORK_FACTORS, len(jobs)) if case.misled else 1.0
    return Setting(
        jobs=jobs,
        tenants=unlimited_tenants(tenants, len(world.machines.gpu_types)),
        tenant_names=tuple(f"tenant {row}" for row in range(tenants)),
        machines=world.machines,
        believed_work=jobs.work * factor,
        profiles=world.profiles,
        believed_profiles=world.profiles,
        costs=COSTS,
        origin_s=begins_s(case.window),
        seed=case.window,
        pue=PUE,
        power_budget_w=method.eta * world.most_w() if method.eta else float("inf"),
        price=real_price,
        market_timezone=MARKET_TIMEZONE,
        believed_price=noisy(real_price, PRICE_NOISE, random) if case.misled else None,
        carbon=carbon(case.window),
        power_off=True,
        min_idle_s=0.0,
    )


def _alone(world: FrontierWorld, tenant: int) -> FrontierWorld:
    """Its jobs on as many nodes as are its share of equal ones."""
    mine = world.jobs.tenant == tenant
    jobs = world.jobs.rows(mine)
    return replace(
        world,
        machines=settings.machines(len(world.machines.nodes) // TENANTS),
        jobs=jobs.but(tenant=np.zeros(len(jobs))),
        most_gpus=world.most_gpus[mine],
    )
