"""Nodes with tokens in the database, half of them at work, as if their agents had joined."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from clusters.models import Cluster, Gpu, Node
from energy.models import Sample
from jobs.models import Allocation, Attempt, Job, Part
from scheduler_service.factories import make_cluster, make_gpu_type, make_nodes
from tenancy.models import ApiToken, Tenant
from tenancy.roles import Role
from tenancy.token_text import PREFIX_LENGTH, hash_of, new_secret

GPUS = 8


@dataclass(frozen=True)
class Fleet:
    cluster: Cluster
    tokens: list[str]
    nodes: list[dict[str, Any]]


def build(count: int, now: datetime) -> Fleet:
    cluster = make_cluster(f"fleet-{count}", round_interval_s=30)
    secrets = [new_secret(Role.NODE) for _ in range(count)]
    tokens = ApiToken.objects.bulk_create(
        ApiToken(prefix=each[:PREFIX_LENGTH], hash=hash_of(each), role=Role.NODE, name="bench")
        for each in secrets
    )
    joined: dict[str, Any] = {"epoch": 1, "boot_id": "bench", "last_sync_at": now}
    nodes = make_nodes(cluster, make_gpu_type("A100"), count, gpus=GPUS, tokens=tokens, **joined)
    gpus = list(Gpu.objects.filter(node__cluster=cluster).order_by("node_id", "index"))
    attempts = _work(cluster, nodes[::2], gpus, now)
    return Fleet(
        cluster,
        secrets,
        [
            {
                "uuids": [gpu.uuid for gpu in gpus[row * GPUS : (row + 1) * GPUS]],
                "attempt": attempts.get(node.pk),
            }
            for row, node in enumerate(nodes)
        ],
    )


def _work(
    cluster: Cluster, nodes: list[Node], gpus: list[Gpu], now: datetime
) -> dict[int, tuple[int, int]]:
    tenant, _ = Tenant.objects.get_or_create(name="bench", defaults={"display_name": "bench"})
    jobs = Job.objects.bulk_create(
        Job(cluster=cluster, tenant=tenant, name="train", argv=["true"], min_gpus=GPUS,
            max_gpus=GPUS, state="running", submitted_at=now, started_at=now)
        for _ in nodes
    )  # fmt: skip
    attempts = Attempt.objects.bulk_create(
        Attempt(tenant=tenant, job=job, cluster=cluster, number=1, fence=10**9 + job.pk,
                state="running", gpus=GPUS, offered_at=now, started_at=now)
        for job in jobs
    )  # fmt: skip
    by_node = {node.pk: attempt for node, attempt in zip(nodes, attempts, strict=True)}
    Part.objects.bulk_create(
        Part(tenant=tenant, attempt=attempt, node_id=node, state="running", fetched_at=now)
        for node, attempt in by_node.items()
    )
    Allocation.objects.bulk_create(
        Allocation(tenant=tenant, attempt=by_node[gpu.node_id], node_id=gpu.node_id, gpu=gpu,
                   cpus=1, memory_mib=1024, held_at=now)
        for gpu in gpus
        if gpu.node_id in by_node
    )  # fmt: skip
    Node.objects.filter(pk__in=by_node).update(gpus_in_use=GPUS)
    return {node: (attempt.pk, attempt.fence) for node, attempt in by_node.items()}


def states(fleet: Fleet) -> dict[str, int]:
    found: dict[str, int] = {}
    for state in Node.objects.filter(cluster=fleet.cluster).values_list("state", flat=True):
        found[state] = found.get(state, 0) + 1
    return found


def braked(fleet: Fleet) -> bool:
    return Cluster.objects.filter(pk=fleet.cluster.pk, brake_since_at__isnull=False).exists()


def samples_kept(fleet: Fleet) -> int:
    gpus = Gpu.objects.filter(node__cluster=fleet.cluster).values("pk")
    return Sample.objects.filter(gpu_id__in=gpus).count()


def retire(fleet: Fleet) -> None:
    """Out of the way of the next fleet: its silence must not look like a loss."""
    Node.objects.filter(cluster=fleet.cluster).update(state="off", last_sync_at=None)
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE energy_sample, energy_sampleinbox")
        cursor.execute("ANALYZE")
