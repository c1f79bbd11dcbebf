"""Clusters for tests: built by hand, and carried from round to round."""

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from policies.contract.plan import Placing, Plan, SetClock
from policies.contract.snapshot import (
    ANY_GPU_TYPE,
    GpuTypeTable,
    JobState,
    JobTable,
    NodeState,
    NodeTable,
    PartitionTable,
    Placements,
    PriceTable,
    ProfileTable,
    Snapshot,
    Span,
    TenantTable,
)

NOW_S = 1_000_000.0
# Nobody has lost its patience yet.
JUST_S = NOW_S - 500.0
Piece = tuple[int, int, int, int]


@dataclass
class Node:
    gpus: int = 8
    gpu_type: int = 0
    partition: int = -1
    state: NodeState = NodeState.READY
    cpus: int = 64
    mem_mib: int = 512_000
    rack: int = -1
    switch: int = -1
    broken: int = 0
    """GPUs that are never free."""
    host_idle_w: float = 0.0
    host_peak_w: float = 0.0
    idle_since_s: float = -np.inf


@dataclass
class Job:
    gpus: int = 1
    on: list[Piece] = field(default_factory=list)
    """Pieces held: node row, GPU mask, CPUs, MiB; empty while queued."""
    state: JobState = JobState.QUEUED
    submitted_s: float | None = None
    max_gpus: int | None = None
    columns: dict[str, Any] = field(default_factory=dict)


@dataclass
class World:
    nodes: list[Node]
    jobs: list[Job]
    partitions: list[bool] = field(default_factory=list)
    """Whether each lends."""
    quotas: list[int] = field(default_factory=lambda: [-1])
    type_quotas: list[list[int]] | None = None
    weights: list[float] | None = None
    energy_left_j: list[float] | None = None
    gpu_types: tuple[str, ...] = ("A100",)
    power_budget_w: float = float("inf")
    partition_budgets_w: list[float] | None = None
    cluster_energy_left_j: float = float("inf")
    energy_until_s: float = float("inf")
    profiles: ProfileTable | None = None
    now_s: float = NOW_S
    power_off: bool = False

    def snapshot(self) -> Snapshot:
        return Snapshot(
            now_s=self.now_s,
            power_off=self.power_off,
            power_budget_w=self.power_budget_w,
            energy_left_j=self.cluster_energy_left_j,
            energy_until_s=self.energy_until_s,
            jobs=self._jobs(),
            placements=self._placements(),
            nodes=self._nodes(),
            gpu_types=GpuTypeTable.of(
                name=self.gpu_types,
                idle_w=np.full(len(self.gpu_types), 50.0),
                max_w=np.full(len(self.gpu_types), 300.0),
            ),
            partitions=PartitionTable.of(
                id=np.arange(len(self.partitions)) + 500,
                name=tuple(f"part-{row}" for row in range(len(self.partitions))),
                lends=self.partitions,
                power_budget_w=self.partition_budgets_w or np.full(len(self.partitions), np.inf),
            ),
            tenants=self._tenants(),
            profiles=self.profiles or ProfileTable.none(len(self.gpu_types)),
            prices=PriceTable.unknown(),
        )

    def _jobs(self) -> JobTable:
        names = {name for job in self.jobs for name in job.columns}
        defaults = {"gpu_types": ANY_GPU_TYPE, "tenant": 0, **_DEFAULTS}
        columns: dict[str, Any] = {
            name: [job.columns.get(name, defaults.get(name)) for job in self.jobs]
            for name in names | {"gpu_types", "tenant"}
        }
        columns["gpu_types"] = np.array(columns["gpu_types"], np.uint64)
        gpus = [job.gpus for job in self.jobs]
        return JobTable.of(
            **{
                "id": np.arange(len(self.jobs)) + 1000,
                "state": [job.state for job in self.jobs],
                "min_gpus": gpus,
                "max_gpus": [job.max_gpus or job.gpus for job in self.jobs],
                "submitted_s": [
                    JUST_S + at if job.submitted_s is None else job.submitted_s
                    for at, job in enumerate(self.jobs)
                ],
                **columns,
            }
        )

    def _placements(self) -> Placements:
        pieces = [piece for job in self.jobs for piece in job.on]
        node, gpus, cpus, mem_mib = zip(*pieces, strict=True) if pieces else ((), (), (), ())
        return Placements.of(
            offset=np.cumsum([0, *(len(job.on) for job in self.jobs)]),
            node=node,
            gpus=np.array(gpus, np.uint64),
            cpus=cpus,
            mem_mib=mem_mib,
        )

    def _nodes(self) -> NodeTable:
        free = [(1 << node.gpus) - 1 & ~node.broken for node in self.nodes]
        cpus = [node.cpus for node in self.nodes]
        mem_mib = [node.mem_mib for node in self.nodes]
        for job in self.jobs:
            for row, mask, piece_cpus, piece_mem_mib in job.on:
                assert free[row] & mask == mask, "a test world gives a GPU twice"
                free[row] &= ~mask
                cpus[row] -= piece_cpus
                mem_mib[row] -= piece_mem_mib
        plain = ("state", "partition", "gpu_type", "gpus", "cpus", "mem_mib", "rack", "switch")
        watts = ("host_idle_w", "host_peak_w", "idle_since_s")
        return NodeTable.of(
            id=np.arange(len(self.nodes)) + 1,
            free_gpus=np.array(free, np.uint64),
            free_cpus=cpus,
            free_mem_mib=mem_mib,
            **{name: [getattr(node, name) for node in self.nodes] for name in (*plain, *watts)},
        )

    def _tenants(self) -> TenantTable:
        used = np.zeros((len(self.quotas), len(self.gpu_types)), np.int32)
        for job in self.jobs:
            for row, mask, _, _ in job.on:
                used[job.columns.get("tenant", 0), self.nodes[row].gpu_type] += mask.bit_count()
        count = len(self.quotas)
        return TenantTable.of(
            id=np.arange(count) + 9000,
            quota_gpus=self.quotas,
            used_gpus=used.sum(axis=1),
            quota_by_type=self.type_quotas or np.full(used.shape, -1),
            used_by_type=used,
            weight=self.weights or np.ones(count),
            energy_left_j=self.energy_left_j or np.full(count, np.inf),
        )

    def after(self, plan: Plan) -> "World":
        """The next round's world: stopping work is gone, victims stop, starts run."""
        world = copy.deepcopy(self)
        for job in world.jobs:
            if job.state == JobState.STOPPING:
                job.state, job.on = JobState.QUEUED, []
                job.columns["started_s"] = np.nan
        for preempt in plan.preempts:
            victim = world.jobs[preempt.job - 1000]
            victim.state = JobState.STOPPING
            # Who has run is served by the policy's order again, and gets no nodes kept for it.
            victim.columns["attained_gpu_s"] = max(1.0, victim.columns.get("attained_gpu_s", 0.0))
            if "est_run_s" in victim.columns:
                victim.columns["est_run_s"] += preempt.lost_gpu_s / victim.gpus
        for act in (*plan.resizes, *plan.moves):
            job = world.jobs[act.job - 1000]
            job.on = [(p.node - 1, p.gpus, p.cpus, p.mem_mib) for p in act.pieces]
        clocked: list[Placing | SetClock] = [*plan.starts, *plan.resizes, *plan.moves, *plan.clocks]
        for entry in clocked:
            world.jobs[entry.job - 1000].columns["clock_mhz"] = entry.clock_mhz
        return world.with_starts(plan)

    def with_starts(self, plan: Plan) -> "World":
        world = copy.deepcopy(self)
        for start in plan.starts:
            job = world.jobs[start.job - 1000]
            job.state = JobState.RUNNING
            job.on = [(p.node - 1, p.gpus, p.cpus, p.mem_mib) for p in start.pieces]
            job.columns["started_s"] = world.now_s
        return world


_DEFAULTS: dict[str, Any] = {
    "partition": -1,
    "preemptible": True,
    "cpus_per_gpu": 0,
    "mem_mib_per_gpu": 0,
    "span": Span.ANY,
    "blocked": 0,
    "priority": 0,
    "est_run_s": np.nan,
    "est_total_s": np.nan,
    "deadline_s": np.inf,
    "attained_gpu_s": 0.0,
    "started_s": np.nan,
    "checkpoint_s": np.nan,
    "restart_cost_s": 0.0,
    "min_run_s": 0.0,
    "profile": -1,
    "work_left": np.nan,
    "clock_mhz": 0,
}


def profiles_of(
    throughput: Any, watts: Any, *, counts: tuple[int, ...], clocks: tuple[int, ...], kinds: int = 1
) -> ProfileTable:
    """Profiles over (profile, count, clock), alike on every GPU type."""
    speed, drawn = (np.asarray(values, np.float64)[:, None] for values in (throughput, watts))
    shape = (len(speed), kinds, len(counts), len(clocks))
    return ProfileTable.of(
        id=np.arange(len(speed)) + 70,
        gpu_counts=counts,
        clocks_mhz=np.tile(clocks, (kinds, 1)),
        throughput=np.broadcast_to(speed, shape),
        watts_per_gpu=np.broadcast_to(drawn, shape),
        cpus_per_gpu=[],
        mem_mib_per_gpu=[],
        relative_speed=np.empty((len(speed), 0, 0)),
    )


def queued(gpus: int = 1, **columns: Any) -> Job:
    return Job(gpus, submitted_s=columns.pop("submitted_s", None), columns=columns)


def running(*on: tuple[int, int], since_s: float = 3600.0, **columns: Any) -> Job:
    """A job that holds `on`, as (node row, GPU mask), for `since_s` seconds."""
    gpus = sum(mask.bit_count() for _, mask in on)
    cpus = columns.get("cpus_per_gpu", 0)
    mem_mib = columns.get("mem_mib_per_gpu", 0)
    pieces = [(n, mask, cpus * mask.bit_count(), mem_mib * mask.bit_count()) for n, mask in on]
    state = columns.pop("state", JobState.RUNNING)
    submitted_s = columns.pop("submitted_s", None)
    columns.setdefault("started_s", NOW_S - since_s)
    return Job(gpus, pieces, state, submitted_s, columns=columns)
