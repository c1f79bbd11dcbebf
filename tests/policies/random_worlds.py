"""Clusters for tests, generated at random: few shapes of jobs, many jobs of each, any limits."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from policies.bench.bits import lowest_bits, members
from policies.contract.snapshot import ANY_GPU_TYPE, JobState, NodeState, Span
from tests.policies.worlds import NOW_S, Job, Node, World, profiles_of, running

GPUS = (1, 1, 1, 2, 2, 3, 4, 8, 12)
NODE_GPUS = (1, 2, 4, 4, 6, 8)
LARGE_NODE_GPUS = (32, 64)
GPU_COUNTS, CLOCKS_MHZ = (1, 2, 4, 8, 16), (400, 800, 1200, 1600)
BUDGETS = ("cluster", "partitions", "energy")
"""Kinds of power limits; a world has none, one of them, or all."""

Columns = dict[str, Any]


class Maker(Protocol):
    def __call__(self, seed: int, *, nodes: int, queue: int, run: int) -> World: ...


def random_world(seed: int, *, nodes: int, queue: int, run: int) -> World:
    """Heterogeneous, fragmented, over-subscribed, with gangs, partitions, quotas and dark nodes.

    Most jobs are like one of a few, as those of an array or of a sweep are.
    """
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
    )
    _limit(rng, world, 1_000, 30_000)
    shapes = [_random_shape(rng, world) for _ in range(int(rng.integers(1, 5)))]
    free = [(1 << node.gpus) - 1 & ~node.broken for node in world.nodes]
    for _ in range(run if nodes else 0):
        job = _random_running(rng, world, free, shapes)
        if job is not None:
            world.jobs.append(job)
    world.jobs += [_random_queued(rng, world, shapes) for _ in range(queue)]
    _let_half_be_new(np.random.default_rng([seed, 3]), world)
    world.jobs = [world.jobs[at] for at in rng.permutation(len(world.jobs))]
    return world


def _let_half_be_new(rng: np.random.Generator, world: World) -> None:
    """Of the queued jobs: only those who have never run may lose their patience."""
    for job in world.jobs:
        if not job.on and rng.random() < 0.5:
            job.columns["attained_gpu_s"] = 0.0


def elastic_world(seed: int, *, nodes: int, queue: int, run: int) -> World:
    """A random world in which most jobs have profiles, many may grow, and power is short.

    Jobs of one shape differ in their profiles, or are alike in them as well.
    """
    world = random_world(seed, nodes=nodes, queue=queue, run=run)
    rng = np.random.default_rng([seed, 1])
    counts, clocks = GPU_COUNTS, CLOCKS_MHZ
    share = rng.uniform(0.3, 1.0, (3, 1, 1))
    rising = np.cumsum(rng.uniform(-0.2, 1.0, (3, len(counts), 1)), axis=1) + 1
    throughput = rising * np.linspace(0.4, 1.0, len(clocks)) ** share
    watts = 60 + 240 * np.linspace(0.2, 1.0, len(clocks)) ** 2 * rng.uniform(0.5, 1, (3, 5, 1))
    world.profiles = profiles_of(
        np.maximum(throughput, 0.1), watts, counts=counts, clocks=clocks, kinds=3
    )
    world.gpu_types = ("A100", "H100", "L4")
    world.type_quotas = None
    alike: dict[str, tuple[Columns, int]] | None = {} if rng.random() < 0.5 else None
    for job in world.jobs:
        columns, growth = _random_work(rng)
        if alike is not None:
            columns, growth = alike.setdefault(repr((job.gpus, job.columns)), (columns, growth))
        job.columns |= columns
        job.max_gpus = job.gpus * growth
        if job.on:
            job.columns["clock_mhz"] = int(rng.choice([0, *clocks]))
    _limit(rng, world, 500, 20_000)
    return world


def _random_work(rng: np.random.Generator) -> tuple[Columns, int]:
    """A profile and steps, and how many times the fewest GPUs are the most."""
    work = {
        "profile": int(rng.integers(-1, 3)),
        "work_left": float(rng.integers(0, 20_000)) if rng.random() < 0.8 else np.nan,
    }
    return work, int(rng.choice([1, 2, 4, 8])) if rng.random() < 0.7 else 1


def _limit(rng: np.random.Generator, world: World, low_w: int, high_w: int) -> None:
    """No power budget, one of a kind and no other, or all of them."""
    drawn = rng.random()
    kinds = BUDGETS if drawn < 0.15 else (str(rng.choice(BUDGETS)),) if drawn < 0.6 else ()
    world.power_budget_w = world.cluster_energy_left_j = world.energy_until_s = np.inf
    world.partition_budgets_w = None
    if "cluster" in kinds:
        world.power_budget_w = float(rng.integers(low_w, high_w))
    if "partitions" in kinds:
        watts = rng.integers(low_w // 5, high_w // 3, len(world.partitions))
        world.partition_budgets_w = [float(w) if rng.random() < 0.8 else np.inf for w in watts]
    if "energy" in kinds:
        world.cluster_energy_left_j = float(rng.integers(0, 7200 * high_w))
        world.energy_until_s = NOW_S + 7200


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
    gpus = int(rng.choice(NODE_GPUS if rng.random() < 0.9 else LARGE_NODE_GPUS))
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
        broken=_bits(rng, gpus) if rng.random() < 0.15 else 0,
        host_idle_w=idle_w,
        host_peak_w=idle_w + float(rng.integers(0, 300)),
    )


def _bits(rng: np.random.Generator, count: int) -> int:
    return int.from_bytes(rng.bytes(8)) & (1 << count) - 1


def _submitted(rng: np.random.Generator) -> float:
    # Few distinct values, so that ties happen.
    return NOW_S - 600.0 * float(rng.integers(1, 40))


def _random_shape(rng: np.random.Generator, world: World) -> tuple[int, Columns]:
    gpus = int(rng.choice(GPUS)) if rng.random() < 0.95 else int(rng.choice(LARGE_NODE_GPUS))
    return gpus, _random_columns(rng, world)


def _random_queued(
    rng: np.random.Generator, world: World, shapes: Sequence[tuple[int, Columns]]
) -> Job:
    """Like one of `shapes`, perhaps of another age, or of a shape of its own."""
    gpus, columns = shapes[int(rng.integers(len(shapes)))]
    if rng.random() < 0.3:
        gpus, columns = _random_shape(rng, world)
    blocked = int(rng.choice([0] * 10 + [1, 2]))
    return Job(gpus, submitted_s=_submitted(rng), columns={**columns, "blocked": blocked})


def _random_columns(rng: np.random.Generator, world: World) -> Columns:
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


def _random_running(
    rng: np.random.Generator,
    world: World,
    free: list[int],
    shapes: Sequence[tuple[int, Columns]],
) -> Job | None:
    """A job on the free GPUs of one or two nodes of a type, wherever they are; None if none are."""
    columns = dict(shapes[int(rng.integers(len(shapes)))][1])
    if rng.random() < 0.3:
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


def any_size(
    seed: int, make: Maker = random_world, *, nodes: int = 8, queue: int = 16, run: int = 16
) -> World:
    """A world of up to so many, or of none; the seed decides."""
    most = np.array([nodes, queue, run])
    nodes, queue, run = np.random.default_rng([seed, 9]).integers(0, most + 1).tolist()
    return make(seed, nodes=nodes, queue=queue, run=run)
