"""A policy that says what a test tells it to, and small worlds to say it in."""

from collections.abc import Callable
from typing import Any

import numpy as np

from policies.contract.plan import Piece, Plan, Start
from policies.contract.snapshot import Snapshot
from simulator.costs import Costs
from simulator.engine import Engine, Outcome, Pace
from simulator.machines import GpuKind, Machines, NodeKind, build
from simulator.setting import Setting, plain_setting
from simulator.workload import Workload

Say = Callable[[Snapshot], Plan]


class Scripted:
    """Says the given plans, one a round, and then nothing more."""

    work_conserving = False
    minds_running = True

    def __init__(self, *plans: Plan | Say) -> None:
        self.plans = list(plans)
        self.seen: list[Snapshot] = []

    def plan(self, snapshot: Snapshot) -> Plan:
        self.seen.append(snapshot)
        if not self.plans:
            return Plan()
        said = self.plans.pop(0)
        return said if isinstance(said, Plan) else said(snapshot)


def start(job: int, node: int = 0, gpus: int = 0b1, clock_mhz: int = 0) -> Start:
    return Start(job, (Piece(node, gpus, 0, 0),), clock_mhz)


def jobs_of(*jobs: tuple[float, float, int], **columns: Any) -> Workload:
    """Jobs as (submitted_s, work, GPUs)."""
    submitted_s, work, gpus = (np.array(column) for column in zip(*jobs, strict=True))
    return Workload.sorted(submitted_s=submitted_s, work=work, gpus=gpus, **columns)


def machines_of(count: int = 2, gpus: int = 4, **node: Any) -> Machines:
    kind = NodeKind(count=count, gpus=gpus, host_idle_w=100, host_peak_w=180, **node)
    return build([kind], [GpuKind(name="GPU", idle_w=20, max_w=220)])


def setting_of(jobs: Workload, machines: Machines | None = None, **costs: Any) -> Setting:
    tenants = [f"tenant-{row}" for row in range(int(jobs.tenant.max()) + 1)]
    return plain_setting(
        jobs, machines or machines_of(), tenant_names=tenants, costs=Costs(**costs)
    )


def outcome_of(setting: Setting, policy: Any, **pace: Any) -> Outcome:
    return Engine(setting, policy, Pace(**{"patience_s": 3600.0, **pace})).run()
