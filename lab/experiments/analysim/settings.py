"""The worlds of the AnalySIM experiment: Philly on cluster A, openb on cluster B."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal

import numpy as np

from policies.contract.columns import I64
from policies.contract.snapshot import Span
from simulator.costs import Costs
from simulator.engine import Pace
from simulator.generate import scale
from simulator.machines import Machines, NodeKind, build, in_partitions
from simulator.scenario.files import data_directory
from simulator.setting import Setting, plain_setting
from simulator.traces.alibaba import openb_nodes, openb_pods
from simulator.traces.clusters import philly
from simulator.workload import Trace, Workload

DAY_S = 86_400.0
FIRST_MONDAY_AT = datetime(2017, 10, 2, tzinfo=UTC)
DAYS = 28
PARTITIONS = 6
GPUS_PER_NODE = 8
OPENB_FROM_DAY = 121
# Checkpoint and restart together cost a preempted or moved job 60 s.
COSTS = Costs(
    checkpoint_s=30.0,
    restart_s=30.0,
    slowdown_in_rack=0.2,
    slowdown_in_switch=0.2,
    slowdown_across=0.2,
)
# A quarter of an hour is short beside mean completion times of half a day, and lets the grid end.
PACE = Pace(interval_s=900.0, on_events=False, sample_s=900.0)

Policy = Literal["fifo", "sjf", "srtf", "las"]
Placement = Literal["consolidate", "best fit", "random"]
Sharing = Literal["static", "lending", "none"]


@dataclass(frozen=True, slots=True)
class AnalysimCase:
    """One cell of the grid with one seed; cluster B has no partitions and one load."""

    cluster: Literal["A", "B"]
    policy: Policy
    placement: Placement
    preemption: bool
    migration: bool
    sharing: Sharing
    load: float
    seed: int

    def settled(self) -> "AnalysimCase":
        """The case that is run for this one: equal rules are run once.

        Without preemption a remaining time is the whole one, and the registry's SJF ranks by what
        remains, so SJF and SRTF are one. A gang that may lie apart fits whenever enough GPUs are
        free, so there is nothing to move for.
        """
        policy: Policy = self.policy
        if policy in ("sjf", "srtf"):
            policy = "srtf" if self.preemption else "sjf"
        return replace(
            self, policy=policy, migration=self.migration and self.placement == "consolidate"
        )

    def name(self) -> str:
        """Tells every case from every other, for people and as a key."""
        switches = [word for word in ("preemption", "migration") if getattr(self, word)]
        how = " + ".join(switches) or "plain"
        where = f"{self.cluster}, {self.sharing}, load {self.load:g}, seed {self.seed}"
        return f"{self.policy.upper()}, {self.placement}, {how} ({where})"

    def parameters(self) -> dict[str, Any]:
        placements = {"consolidate": "consolidate", "best fit": "pack", "random": "random"}
        return {
            "placement": placements[self.placement],
            "preempt": self.preemption,
            "migration": self.migration,
        }


def setting_of(case: AnalysimCase) -> Setting:
    trace, machines = _cluster_a(case) if case.cluster == "A" else _cluster_b()
    jobs = trace.jobs.but(span=_spans(trace.jobs, machines, case.placement))
    return plain_setting(jobs, machines, tenant_names=trace.tenants, costs=COSTS, seed=case.seed)


def _spans(jobs: Workload, machines: Machines, placement: Placement) -> I64:
    """Consolidation insists on the fewest nodes under one switch; the others only prefer it."""
    if placement != "consolidate":
        return np.full(len(jobs), int(Span.ANY))
    widest = int(machines.nodes.gpus.max())
    beyond = Span.SWITCH if (machines.nodes.switch >= 0).any() else Span.ANY
    return np.where(jobs.gpus <= widest, int(Span.NODE), int(beyond))


def _cluster_a(case: AnalysimCase) -> tuple[Trace, Machines]:
    node = NodeKind(count=128, gpus=GPUS_PER_NODE, cpus=56, per_rack=8, per_switch=8)
    machines = build([node])
    trace = _busiest()
    jobs = trace.jobs
    used = np.bincount(jobs.partition, jobs.gpus * jobs.work)
    machines = in_partitions(
        machines, trace.partitions, used.tolist(), lends=case.sharing == "lending"
    )
    return scale.at_load(trace, machines.gpus, DAYS * DAY_S, case.load, case.seed), machines


@cache
def _busiest() -> Trace:
    trace, _ = philly(data_directory() / "philly" / "philly.csv.gz")
    from_s = FIRST_MONDAY_AT.timestamp()
    return scale.busiest_partitions(scale.window(trace, from_s, from_s + DAYS * DAY_S), PARTITIONS)


@cache
def _cluster_b() -> tuple[Trace, Machines]:
    directory = data_directory() / "alibaba_openb_v2023"
    trace, _ = openb_pods(directory / "openb_pod_list_default.csv.gz")
    machines = openb_nodes(directory / "openb_node_list_gpu_node.csv")
    return scale.window(trace, OPENB_FROM_DAY * DAY_S, float("inf")), machines
