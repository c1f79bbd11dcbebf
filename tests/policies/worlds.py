"""Clusters for tests: built by hand, generated at random, and carried from round to round."""

import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from policies.bench.bits import lowest_bits, members
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

    def snapshot(self) -> Snapshot:
        return Snapshot(
            now_s=self.now_s,
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
                    at - 10_000.0 if job.submitted_s is None else job.submitted_s
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
        watts = ("host_idle_w", "host_peak_w")
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


def random_world(seed: int, *, nodes: int, queue: int, run: int) -> World:
    """Heterogeneous, fragmented, over-subscribed, with gangs, partitions, quotas and dark nodes."""
    rng = np.random.default_rng(seed)
    types = int(rng.integers(1, 4))
    partitions = [bool(lends) for lends in rng.random(int(rng.integers(0, 4))) < 0.5]
    tenants = int(rng.integers(1, 4))
    world = World(
        nodes=[_random_node(rng, types, len(partitions)) for _ in range(nodes)],
        jobs=[],
        partitions=partitions,
        quotas=[int(q) if rng.random() < 0.5 else -1 for q in rng.integers(4, 40, tenants)],
        type_quotas=[
            [int(q) if rng.random() < 0.3 else -1 for q in rng.integers(2, 20, types)]
            for _ in range(tenants)
        ],
        weights=[float(w) for w in rng.integers(1, 4, tenants)],
        energy_left_j=[0.0 if rng.random() < 0.1 else np.inf for _ in range(tenants)],
        gpu_types=("A100", "H100", "L4")[:types],
        power_budget_w=float(rng.integers(1_000, 30_000)) if rng.random() < 0.3 else np.inf,
    )
    free = [(1 << node.gpus) - 1 & ~node.broken for node in world.nodes]
    for _ in range(run):
        job = _random_running(rng, world, free)
        if job is not None:
            world.jobs.append(job)
    for _ in range(queue):
        gpus = int(rng.choice([1, 1, 1, 2, 2, 3, 4, 8, 12]))
        columns = _random_columns(rng, world)
        columns["blocked"] = int(rng.choice([0] * 10 + [1, 2]))
        world.jobs.append(Job(gpus, submitted_s=_submitted(rng), columns=columns))
    order = rng.permutation(len(world.jobs))
    world.jobs = [world.jobs[at] for at in order]
    return world


def elastic_world(seed: int, *, nodes: int, queue: int, run: int) -> World:
    """A random world in which most jobs have profiles, many may grow, and power is short."""
    world = random_world(seed, nodes=nodes, queue=queue, run=run)
    rng = np.random.default_rng([seed, 1])
    counts, clocks = (1, 2, 4, 8, 16), (400, 800, 1200, 1600)
    share = rng.uniform(0.3, 1.0, (3, 1, 1))
    rising = np.cumsum(rng.uniform(-0.2, 1.0, (3, len(counts), 1)), axis=1) + 1
    throughput = rising * np.linspace(0.4, 1.0, len(clocks)) ** share
    watts = 60 + 240 * np.linspace(0.2, 1.0, len(clocks)) ** 2 * rng.uniform(0.5, 1, (3, 5, 1))
    world.profiles = profiles_of(
        np.maximum(throughput, 0.1), watts, counts=counts, clocks=clocks, kinds=3
    )
    world.gpu_types = ("A100", "H100", "L4")
    world.type_quotas = None
    for job in world.jobs:
        job.columns["profile"] = int(rng.integers(-1, 3))
        job.columns["work_left"] = float(rng.integers(0, 20_000)) if rng.random() < 0.8 else np.nan
        if rng.random() < 0.7:
            job.max_gpus = job.gpus * int(rng.choice([1, 2, 4, 8]))
        if job.on:
            job.columns["clock_mhz"] = int(rng.choice([0, *clocks]))
    world.power_budget_w = float(rng.integers(500, 20_000)) if rng.random() < 0.6 else np.inf
    if rng.random() < 0.3:
        world.partition_budgets_w = [float(w) for w in rng.integers(100, 8_000, 3)]
        world.partition_budgets_w = world.partition_budgets_w[: len(world.partitions)]
    if rng.random() < 0.3:
        world.cluster_energy_left_j = float(rng.integers(0, 10**8))
        world.energy_until_s = NOW_S + 7200
    return world


def sensitive_world(seed: int, *, nodes: int, queue: int, run: int) -> World:
    """An elastic world in which some profiles know what CPUs and memory do, and work holds some."""
    world = elastic_world(seed, nodes=nodes, queue=queue, run=run)
    rng = np.random.default_rng([seed, 2])
    assert world.profiles is not None
    # Never slower with more of anything; of the last profile nothing is known.
    speed = rng.random((3, 4, 3)).cumsum(axis=1).cumsum(axis=2) + 0.05
    speed[rng.random((3, 4, 3)) < 0.1] = np.nan
    speed[2] = np.nan
    world.profiles = replace(
        world.profiles,
        cpus_per_gpu=np.array([1.0, 2.0, 4.0, 8.0]),
        mem_mib_per_gpu=np.array([4_000.0, 16_000.0, 40_000.0]),
        relative_speed=speed,
        mem_told=rng.random(3) < 0.7,
    )
    left = [[node.cpus, node.mem_mib] for node in world.nodes]
    for job in world.jobs:
        if rng.random() < 0.5:
            job.columns["cpus_per_gpu"] = job.columns["mem_mib_per_gpu"] = 0
        held = []
        for node, mask, _, _ in job.on:
            cpus, mem_mib = (int(most * rng.random()) for most in left[node])
            left[node] = [left[node][0] - cpus, left[node][1] - mem_mib]
            held.append((node, mask, cpus, mem_mib))
        job.on = held
    return world


def _random_node(rng: np.random.Generator, types: int, partitions: int) -> Node:
    gpus = int(rng.choice([1, 2, 4, 4, 6, 8]))
    idle_w = float(rng.integers(0, 200))
    return Node(
        gpus=gpus,
        gpu_type=int(rng.integers(types)),
        partition=int(rng.integers(-1, partitions)),
        state=NodeState(int(rng.choice([0, 0, 0, 0, 0, 0, 1, 2, 3]))),
        cpus=int(rng.integers(1, 9)) * gpus,
        mem_mib=int(rng.integers(8, 65)) * 1000 * gpus,
        rack=int(rng.integers(-1, 3)),
        switch=int(rng.integers(-1, 2)),
        broken=int(rng.integers(1 << gpus)) if rng.random() < 0.15 else 0,
        host_idle_w=idle_w,
        host_peak_w=idle_w + float(rng.integers(0, 300)),
    )


def _submitted(rng: np.random.Generator) -> float:
    # Few distinct values, so that ties happen.
    return NOW_S - 600.0 * float(rng.integers(1, 40))


def _random_columns(rng: np.random.Generator, world: World) -> dict[str, Any]:
    est_total_s = float(rng.integers(1, 100)) * 100.0
    est_run_s = est_total_s * float(rng.integers(1, 10)) / 10
    return {
        "tenant": int(rng.integers(len(world.quotas))),
        "partition": int(rng.integers(-1, len(world.partitions))),
        "gpu_types": ANY_GPU_TYPE if rng.random() < 0.5 else int(rng.integers(1, 8)),
        "preemptible": bool(rng.random() < 0.8),
        "cpus_per_gpu": int(rng.integers(0, 6)),
        "mem_mib_per_gpu": int(rng.integers(0, 30)) * 1000,
        "span": int(rng.choice([Span.NODE, Span.RACK, Span.SWITCH, Span.ANY, Span.ANY])),
        "priority": int(rng.integers(0, 4)),
        "deadline_s": NOW_S + float(rng.integers(-5, 50)) * 100 if rng.random() < 0.7 else np.inf,
        "attained_gpu_s": float(rng.integers(0, 60)) * 1000,
        "est_total_s": est_total_s if rng.random() < 0.8 else np.nan,
        "est_run_s": est_run_s if rng.random() < 0.8 else np.nan,
        "restart_cost_s": float(rng.integers(0, 120)),
        "min_run_s": float(rng.choice([0, 0, 300])),
    }


def _random_running(rng: np.random.Generator, world: World, free: list[int]) -> Job | None:
    """A job on the free GPUs of one or two nodes of a type, wherever they are; None if none are."""
    columns = _random_columns(rng, world)
    columns["cpus_per_gpu"] = columns["mem_mib_per_gpu"] = 0
    first = int(rng.integers(len(world.nodes)))
    here = world.nodes[first]
    if here.state in {NodeState.OFF, NodeState.UNAVAILABLE}:
        return None
    columns["partition"] = here.partition
    if here.partition >= 0 and world.partitions[here.partition] and rng.random() < 0.4:
        columns["partition"], columns["preemptible"] = -1, True
    nodes = [first]
    second = int(rng.integers(len(world.nodes)))
    there = world.nodes[second]
    alike = (here.gpu_type, here.partition, here.state) == (
        there.gpu_type,
        there.partition,
        there.state,
    )
    if second != first and alike and rng.random() < 0.3:
        nodes.append(second)
    on = []
    for row in nodes:
        available = free[row]
        if not available:
            return None
        mask = lowest_bits(available, int(rng.integers(1, available.bit_count() + 1)))
        if rng.random() < 0.5:
            mask = 1 << int(rng.choice(list(members(available))))
        on.append((row, mask))
    for row, mask in on:
        free[row] &= ~mask
    columns["gpu_types"] = ANY_GPU_TYPE
    columns["span"] = Span.ANY
    since_s = float(rng.integers(0, 50)) * 60
    if rng.random() < 0.5:
        columns["checkpoint_s"] = NOW_S - since_s * float(rng.random())
    state = JobState.STOPPING if rng.random() < 0.1 else JobState.RUNNING
    job = running(*on, since_s=since_s, state=state, **columns)
    job.submitted_s = NOW_S - since_s - 600.0 * float(rng.integers(1, 40))
    return job


def worlds(*, nodes: int = 8, queue: int = 16, run: int = 16) -> st.SearchStrategy[World]:
    """Sizes shrink; the contents follow from a seed, which a failure prints."""
    return st.builds(
        random_world,
        st.integers(0, 2**32 - 1),
        nodes=st.integers(1, nodes),
        queue=st.integers(0, queue),
        run=st.integers(0, run),
    )
