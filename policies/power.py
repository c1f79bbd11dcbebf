"""Expected watts: what a job adds to a node, and what the cluster draws now.

A node that is not off draws its host's idle watts, its GPUs' idle watts, and for every GPU in use
the job's watts above idle plus that GPU's share of the host's span from idle to peak. The budget
bounds these watts, before PUE.
"""

import numpy as np

from policies.columns import F64
from policies.snapshot import NodeState, Snapshot


def watts_per_gpu(snapshot: Snapshot) -> F64:
    """Expected watts over (job, GPU type): from the job's profile, else the type's most."""
    jobs, profiles = snapshot.jobs, snapshot.profiles
    watts = np.broadcast_to(snapshot.gpu_types.max_w, (len(jobs), len(snapshot.gpu_types))).copy()
    if not profiles.watts_per_gpu.size:
        return watts
    at = np.searchsorted(profiles.gpu_counts, jobs.min_gpus).clip(max=len(profiles.gpu_counts) - 1)
    # An unset clock is the highest one: what a GPU does when nobody holds it back.
    measured = profiles.watts_per_gpu[jobs.profile, :, at, -1]
    known = (jobs.profile >= 0)[:, None] & ~np.isnan(measured)
    watts[known] = measured[known]
    return watts


def host_watts_per_gpu(snapshot: Snapshot) -> F64:
    nodes = snapshot.nodes
    return (nodes.host_peak_w - nodes.host_idle_w) / np.maximum(nodes.gpus, 1)


def piece_watts(snapshot: Snapshot, job_watts: F64) -> F64:
    """Watts that every placed piece adds to its idle node."""
    held = snapshot.placements
    kind = snapshot.nodes.gpu_type[held.node]
    each = (
        job_watts[held.job_of_piece(), kind]
        - snapshot.gpu_types.idle_w[kind]
        + host_watts_per_gpu(snapshot)[held.node]
    )
    return each * np.bitwise_count(held.gpus)


def idle_draw_w(snapshot: Snapshot) -> float:
    nodes = snapshot.nodes
    idle_w = nodes.host_idle_w + nodes.gpus * snapshot.gpu_types.idle_w[nodes.gpu_type]
    return float(idle_w[nodes.state != NodeState.OFF].sum())
