"""Expected watts: what a job adds to a node at its clock, what the cluster draws, what it may.

A node that is not off draws its host's idle watts, its GPUs' idle watts, and for every GPU in use
the job's watts above idle plus that GPU's share of the host's span from idle to peak. The budgets
bound these watts, before PUE.
"""

import math

import numpy as np

from policies.contract.columns import F64, I64
from policies.contract.snapshot import JobState, NodeState, Snapshot
from policies.pricing.cost import W, marginal_w, per_gpu_w


def limited(snapshot: Snapshot) -> bool:
    """Whether any budget makes watts matter."""
    budgets = snapshot.partitions.power_budget_w
    return math.isfinite(budget_w(snapshot)) or bool(np.isfinite(budgets).any())


def budget_w(snapshot: Snapshot) -> float:
    """The cluster's watts: its power budget, or what its joules allow when spread evenly."""
    if not math.isfinite(snapshot.energy_left_j):
        return snapshot.power_budget_w
    left_s = max(snapshot.energy_until_s - snapshot.now_s, 1.0)
    even_w = max(snapshot.energy_left_j, 0.0) / left_s / snapshot.pue
    return min(snapshot.power_budget_w, even_w)


def partition_budgets_w(snapshot: Snapshot) -> list[float]:
    """By partition row; the appended last entry serves row -1, the nodes of no partition."""
    return [*snapshot.partitions.power_budget_w.tolist(), math.inf]


def watts_left(snapshot: Snapshot, drawn: F64) -> tuple[float, list[float]]:
    """What the budgets leave, of the cluster and as in `partition_budgets_w`, beside `drawn`."""
    budgets = zip(partition_budgets_w(snapshot), drawn.tolist(), strict=True)
    return budget_w(snapshot) - float(drawn.sum()), [budget - used for budget, used in budgets]


def watts_per_gpu(snapshot: Snapshot) -> F64:
    """Expected watts over (job, GPU type), of what runs as it runs.

    A queued job is expected on its fewest GPUs at the highest clock.
    """
    jobs = snapshot.jobs
    queued = jobs.state == JobState.QUEUED
    gpus = np.where(queued, jobs.min_gpus, np.maximum(held_gpus(snapshot), jobs.min_gpus))
    clock_mhz = np.where(queued, 0, jobs.clock_mhz)
    return watts_at(snapshot, np.arange(len(jobs)), gpus, clock_mhz)


def watts_at(snapshot: Snapshot, rows: I64, gpus: I64, clock_mhz: I64) -> F64:
    """Watts per GPU of job `rows` on so many GPUs at such clocks, over GPU types.

    From the profile, at the next higher count it knows; else the type's most.
    """
    kinds, profiles = len(snapshot.gpu_types), snapshot.profiles
    watts = np.broadcast_to(snapshot.gpu_types.max_w, (len(rows), kinds)).copy()
    if not profiles.watts_per_gpu.size:
        return watts
    profile = snapshot.jobs.profile[rows]
    at = np.searchsorted(profiles.gpu_counts, gpus).clip(max=len(profiles.gpu_counts) - 1)
    for kind in range(kinds):
        highest = profiles.watts_per_gpu[profile, kind, at, -1]
        measured = profiles.watts_per_gpu[profile, kind, at, clock_index(snapshot, kind, clock_mhz)]
        measured = np.where(np.isnan(measured), highest, measured)
        known = (profile >= 0) & ~np.isnan(measured)
        watts[known, kind] = measured[known]
    return watts


def clock_index(snapshot: Snapshot, kind: int, clock_mhz: I64) -> I64:
    """Of the nearest clock; an unset one is the highest: what a GPU does when not held back."""
    clocks = snapshot.profiles.clocks_mhz[kind]
    nearest = np.abs(clocks[None, :] - np.asarray(clock_mhz)[:, None]).argmin(axis=1)
    return np.where(np.asarray(clock_mhz) > 0, nearest, len(clocks) - 1)


def held_gpus(snapshot: Snapshot) -> I64:
    """GPUs that every job holds now."""
    held = snapshot.placements
    return np.bincount(
        held.job_of_piece(), np.bitwise_count(held.gpus), minlength=len(snapshot.jobs)
    ).astype(np.int64)


def host_watts_per_gpu(snapshot: Snapshot) -> F64:
    nodes = snapshot.nodes
    return per_gpu_w(nodes, nodes.host_peak_w - nodes.host_idle_w)


def busy_host_w(snapshot: Snapshot) -> F64:
    """A GPU's part of its host's peak watts, over GPU types: the mean of all GPUs of a type."""
    nodes, kinds = snapshot.nodes, len(snapshot.gpu_types)
    peak_w = np.bincount(nodes.gpu_type, nodes.host_peak_w, minlength=kinds)
    gpus = np.bincount(nodes.gpu_type, nodes.gpus, minlength=kinds)
    return np.asarray(peak_w / np.maximum(gpus, 1), np.float64)


def busy_gpu_w(gpu_w: W, idle_w: W, host_w: W) -> W:
    """What one GPU in use adds to its idle node: its watts above idle, and its part of the host."""
    return marginal_w(gpu_w, idle_w, host_w)


def piece_watts(snapshot: Snapshot, job_watts: F64) -> F64:
    """Watts that every placed piece adds to its idle node."""
    held = snapshot.placements
    kind = snapshot.nodes.gpu_type[held.node]
    each = busy_gpu_w(
        job_watts[held.job_of_piece(), kind],
        snapshot.gpu_types.idle_w[kind],
        host_watts_per_gpu(snapshot)[held.node],
    )
    return each * np.bitwise_count(held.gpus)


def node_idle_w(snapshot: Snapshot) -> F64:
    """What every node draws without a job, were it on."""
    nodes = snapshot.nodes
    return nodes.host_idle_w + nodes.gpus * snapshot.gpu_types.idle_w[nodes.gpu_type]


def idle_draw_w(snapshot: Snapshot) -> float:
    return float(node_idle_w(snapshot)[snapshot.nodes.state != NodeState.OFF].sum())


def per_partition(snapshot: Snapshot, node: I64, watts: F64) -> F64:
    """Watts at nodes, summed over the partitions, and in a last entry the nodes of none."""
    count = len(snapshot.partitions) + 1
    summed = np.bincount(snapshot.nodes.partition[node] % count, watts, minlength=count)
    return summed.astype(np.float64)


def drawn_w(snapshot: Snapshot, job_watts: F64) -> F64:
    """What is drawn now, over the partitions, and in a last entry by the nodes of none."""
    on = np.flatnonzero(snapshot.nodes.state != NodeState.OFF)
    idle = per_partition(snapshot, on, node_idle_w(snapshot)[on])
    held = snapshot.placements.node.astype(np.int64)
    return idle + per_partition(snapshot, held, piece_watts(snapshot, job_watts))
