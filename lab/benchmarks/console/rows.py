"""10,000 GPUs and 100,000 jobs, with a day of readings and of the ledger."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import connection

from clusters.models import Cluster, Gpu, Node
from energy.models import Boot
from jobs.models import Attempt, Job
from lab.benchmarks.round.cluster import build
from lab.screenshots.story.readings import fill_readings
from scheduling import record
from scheduling.models import Round
from scheduling.round import load_and_plan

NODES, RUNNING, QUEUED, ENDED = 1250, 8_000, 20_000, 72_000
EVERY = timedelta(minutes=10)
_ENDED = """
INSERT INTO jobs_job (
    tenant_id, cluster_id, name, argv, min_gpus, max_gpus, gpu_types, cpus_per_gpu,
    memory_mib_per_gpu, span, priority, tardiness_price_per_h, work_done, attained_gpu_s,
    preemptible, restartable, restart_cost_s, state, reason, held, unmet_dependencies,
    submitted_at, ended_at, version)
SELECT tenant.id, %(cluster)s, 'train ' || n, ARRAY['true'], 1, 1, '{}', 4, 16384, 'any', 50, 0, 0,
    0, true, true, 60, 'succeeded', 'completed', false, 0, %(now)s, %(now)s, 1
FROM generate_series(1, %(count)s) n
JOIN tenancy_tenant tenant ON tenant.name = 't' || n %% 10
"""
# Every hour of today, for every GPU that is held.
_LEDGER = """
INSERT INTO energy_ledgerrow (tenant_id, cluster_id, attempt_id, gpu_id, starts_at, ends_at, gpu_mj,
    host_mj, method, pue, price_per_kwh, g_per_kwh, currency, cost, carbon_g, coverage, written_at)
SELECT held.tenant_id, %(cluster)s, held.attempt_id, held.gpu_id, hour, hour + interval '1 hour',
    1000000000, 100000000, 'counter', 1, 0.2, 300, 'EUR', 0.06, 90, 1, %(now)s
FROM jobs_allocation held
CROSS JOIN generate_series(%(midnight)s::timestamptz, %(now)s, interval '1 hour') hour
"""


@dataclass(frozen=True)
class ConsoleRows:
    operator: User
    cluster: Cluster
    node: Node
    running: Job
    waiting: Job
    round: Round


def make(now: datetime) -> ConsoleRows:
    cluster = build(NODES, QUEUED, RUNNING)
    Cluster.objects.filter(pk=cluster.pk).update(policy="fifo", power_budget_w=5_000_000)
    values: dict[str, Any] = {"cluster": cluster.pk, "now": now, "count": ENDED}
    values["midnight"] = now.replace(hour=0, minute=0, second=0, microsecond=0)
    with connection.cursor() as cursor:
        cursor.execute(_ENDED, values)
        cursor.execute(_LEDGER, values)
    nodes = Node.objects.filter(cluster=cluster)
    Boot.objects.bulk_create(
        Boot(node=node, boot_id=f"boot-{node.pk}", first_seen_at=now) for node in nodes
    )
    fill_readings(cluster, now=now, every=EVERY)
    entry = record.planned(cluster, load_and_plan(cluster, now=now), now=now)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    running = Job.objects.filter(pk__in=Attempt.objects.values("job")).earliest("pk")
    waiting = Job.objects.filter(state="queued").exclude(pk__in=Attempt.objects.values("job"))
    assert Gpu.objects.count() == 10_000
    assert Job.objects.count() == RUNNING + QUEUED + ENDED
    return ConsoleRows(
        operator=User.objects.create_user("maria", is_staff=True),
        cluster=cluster,
        node=nodes.earliest("pk"),
        running=running,
        waiting=waiting.earliest("pk"),
        round=entry,
    )
