"""Jobs of the demo's cluster: what became of them, and what the simulator says would."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from django.db.models import F, Sum
from django.utils import timezone

from clusters.models import Cluster
from energy.models import Meter
from jobs.models import Allocation, Attempt, Job
from policies.bench.power import host_watts_per_gpu
from policies.contract.snapshot import Snapshot
from policies.registry import build
from scheduling.snapshot.load import load_snapshot
from simulator.engine import Pace
from simulator.live import Guess, engine_from
from tenancy.models import Tenant
from whatif.history import Latency, latency_of


class JobOutcome(NamedTuple):
    """Of one job: (node, GPU mask) pairs, seconds until its end, and joules of its GPUs."""

    where: tuple[tuple[int, int], ...]
    jct_s: float
    gpu_j: float


def submit(workload: Sequence[tuple[int, int]]) -> Snapshot:
    """All at once; the snapshot is what the first round will see."""
    now, cluster = timezone.now(), Cluster.objects.get()
    owners = list(Tenant.objects.order_by("pk"))
    Job.objects.bulk_create(
        Job(
            cluster=cluster,
            tenant=owners[number % len(owners)],
            name=f"sleep-{run_s}",
            argv=["sleep", str(run_s)],
            min_gpus=gpus,
            max_gpus=gpus,
            estimated_run_s=run_s,
            submitted_at=now,
        )
        for number, (gpus, run_s) in enumerate(workload)
    )
    return load_snapshot(cluster, now=now, seed=0)


def actual() -> dict[int, JobOutcome]:
    found = {}
    for attempt in Attempt.objects.select_related("job").order_by("pk"):
        masks: dict[int, int] = {}
        for held in Allocation.objects.filter(attempt=attempt).select_related("gpu"):
            masks[held.node_id] = masks.get(held.node_id, 0) | 1 << held.gpu.index
        if attempt.job.state != Job.State.SUCCEEDED or attempt.job.ended_at is None:
            raise RuntimeError(f"{attempt.job} has {attempt.job.state}: {attempt.job.reason}")
        counted = Meter.objects.filter(attempt=attempt).aggregate(
            mj=Sum(F("now_mj") - F("start_mj"))
        )
        jct_s = (attempt.job.ended_at - attempt.job.submitted_at).total_seconds()
        where = tuple(sorted(masks.items()))
        found[attempt.job_id] = JobOutcome(where, jct_s, (counted["mj"] or 0) / 1000)
    return found


def latency() -> Latency:
    """As forecasts know it, from what has run so far."""
    return latency_of(Cluster.objects.get().pk)


def predicted(snapshot: Snapshot, latency: Latency) -> dict[int, JobOutcome]:
    cluster = Cluster.objects.get()
    policy = build(cluster.policy, cluster.policy_parameters)
    guess = Guess(start_s=latency.start_s, end_s=latency.end_s)
    live = engine_from(snapshot, policy, Pace(), guess)
    outcome = live.engine.run()
    host_w, idle_w = host_watts_per_gpu(snapshot), snapshot.gpu_types.idle_w
    found = {}
    for stretch, pieces in zip(outcome.log.stretches, outcome.log.pieces, strict=True):
        row, from_s, to_s, gpus, watts, _, waits_s = stretch[:7]
        nodes = np.array([piece[0] for piece in pieces])
        # Of the GPUs alone, as their counters see it: without the host, with what idles, and idle
        # while the job is on its way to the node or its end is on its way back.
        kind_idle_w = gpus * float(idle_w[snapshot.nodes.gpu_type[nodes[0]]])
        gpu_w = watts - sum(piece[1].bit_count() * float(host_w[piece[0]]) for piece in pieces)
        gpu_j = kind_idle_w * (to_s - from_s) + gpu_w * (to_s - from_s - waits_s)
        where = tuple(sorted((int(snapshot.nodes.id[piece[0]]), piece[1]) for piece in pieces))
        submitted_s = float(outcome.setting.jobs.submitted_s[row])
        job = int(live.job_ids[row])
        found[job] = JobOutcome(where, to_s - submitted_s, gpu_j)
    return found
