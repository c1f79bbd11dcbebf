"""A cluster in the database, full of running work and with a long queue behind it."""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import log

from django.db import connection
from django.test.utils import CaptureQueriesContext

from clusters.models import Cluster
from jobs.attempts import attempts_end
from jobs.lifecycle import State, advance
from jobs.models import Attempt, Job
from scheduler_service.factories import NOW, make_cluster, make_gpu_type, make_nodes
from scheduling import record
from scheduling.apply.apply import CHUNK, apply_plan
from scheduling.record import Planned
from scheduling.round import Stopwatch, load_and_plan
from tenancy.models import Tenant


@dataclass(frozen=True)
class Mix:
    """What jobs ask for, each value as likely as it is often listed."""

    gangs: tuple[int, ...]
    cpus_per_gpu: tuple[int, ...]
    gpu_types: tuple[list[str], ...]


RUNNING = Mix((1,), (4,), ([],))
QUEUED = Mix((1, 1, 1, 1, 1, 1, 1, 2, 4, 8), (1, 4, 8), ([], [], ["A100"]))


@dataclass(frozen=True)
class AppliedRound:
    ms: float
    placements: int
    load_queries: int
    queries_each: float
    record_queries: int


def build(nodes: int, queued: int, running: int) -> Cluster:
    cluster = make_cluster(f"n{nodes}")
    tenants = [
        Tenant.objects.get_or_create(name=f"t{n}", defaults={"display_name": f"t{n}"})[0]
        for n in range(10)
    ]
    _machines(cluster, nodes)
    chance = random.Random(nodes)
    _jobs(cluster, tenants, running, chance, RUNNING)
    entry = record.planned(cluster, load_and_plan(cluster, now=NOW), now=NOW)
    planned = load_and_plan(cluster, now=NOW)
    assert planned.plan is not None, planned.error
    apply_plan(planned.plan, cluster_id=cluster.pk, round_id=entry.pk, now=NOW)
    Attempt.objects.filter(cluster=cluster).update(state="running", started_at=NOW)
    placed = Attempt.objects.filter(cluster=cluster).count()
    assert placed == running, f"{placed} jobs run, not {running}"
    _jobs(cluster, tenants, queued, chance, QUEUED)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return cluster


def measure(cluster: Cluster, since: timedelta) -> Planned:
    planned = load_and_plan(cluster, now=NOW + timedelta(minutes=10) + since)
    assert planned.plan is not None, planned.error
    return planned


def measure_apply(cluster: Cluster) -> AppliedRound:
    """Half of the running work ends, and one FIFO round fills the room."""
    cluster.policy = "fifo"
    cluster.policy_parameters = {"strict": False}
    now = NOW + timedelta(hours=1)
    _end_half(cluster, now)
    with CaptureQueriesContext(connection) as load:
        planned = load_and_plan(cluster, now=now)
    assert planned.plan is not None, planned.error
    entry = record.planned(cluster, planned, now=now)
    clock = Stopwatch()
    with CaptureQueriesContext(connection) as apply:
        applied = apply_plan(planned.plan, cluster_id=cluster.pk, round_id=entry.pk, now=now)
    ms = clock.lap_ms()
    with CaptureQueriesContext(connection) as kept:
        record.applied(entry, planned, applied)
    transactions = -(-len(planned.plan.starts) // CHUNK)
    return AppliedRound(
        ms, len(applied.started), len(load), len(apply) / max(transactions, 1), len(kept)
    )


def n_log_n_growth(small: tuple[int, int, int], large: tuple[int, int, int]) -> float:
    before, after = sum(small[1:]), sum(large[1:])
    return after * log(after) / (before * log(before))


def _machines(cluster: Cluster, count: int) -> None:
    kinds = [make_gpu_type("A100"), make_gpu_type("H100", max_w=700)]
    make_nodes(cluster, kinds, count, racks_per_switch=8)


def _jobs(
    cluster: Cluster,
    tenants: list[Tenant],
    count: int,
    chance: random.Random,
    mix: Mix,
) -> None:
    jobs = []
    for number in range(count):
        gpus = chance.choice(mix.gangs)
        jobs.append(
            Job(
                cluster=cluster,
                tenant=chance.choice(tenants),
                name=f"j{number}",
                argv=["true"],
                min_gpus=gpus,
                max_gpus=gpus,
                cpus_per_gpu=chance.choice(mix.cpus_per_gpu),
                gpu_types=chance.choice(mix.gpu_types),
                priority=chance.randrange(101),
                estimated_run_s=chance.randrange(60, 86_400),
                deadline_at=NOW + timedelta(seconds=chance.randrange(3600, 864_000)),
                submitted_at=NOW - timedelta(seconds=count - number),
            )
        )
    Job.objects.bulk_create(jobs, batch_size=2000)


def _end_half(cluster: Cluster, now: datetime) -> None:
    live = Attempt.objects.filter(cluster=cluster, state="running").order_by("id")
    half = list(live.values_list("pk", "job_id"))[::2]
    advance([job for _, job in half], sources=[State.PLACED], to=State.RUNNING, reason="", now=now)
    attempts_end([pk for pk, _ in half], state=Attempt.State.ENDED, reason="done", now=now)
    advance(
        [job for _, job in half], sources=[State.RUNNING], to=State.SUCCEEDED, reason="", now=now
    )
