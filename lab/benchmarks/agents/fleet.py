"""Nodes with tokens in the database, some of them at work, as if their agents had joined."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import connection

from clusters.models import Cluster, Gpu, Node
from energy.models import Sample
from jobs.models import Allocation, Attempt, Job, Part, Profile
from scheduler_service.factories import make_cluster, make_gpu_type, make_nodes, make_profile
from tenancy.callers import SYSTEM
from tenancy.models import ApiToken, Tenant
from tenancy.roles import Role
from tenancy.token_text import PREFIX_LENGTH, hash_of, new_secret
from tenancy.tokens import token_create

GPUS = 8
NEVER = datetime(2100, 1, 1, tzinfo=UTC)
CLOCKS_MHZ = [600, 900, 1200, 1410]


@dataclass(frozen=True)
class Fleet:
    cluster: Cluster
    operator_token: str
    agents: list[dict[str, Any]]
    """What the emulated agents are told about themselves."""


def build(name: str, count: int, now: datetime, *, at_work: int = 0, **fields: Any) -> Fleet:
    """Every node of `at_work` (0: none) runs a job on all its GPUs."""
    cluster = make_cluster(name, round_interval_s=30, **fields)
    secrets = [new_secret(Role.NODE) for _ in range(count)]
    tokens = ApiToken.objects.bulk_create(
        ApiToken(prefix=each[:PREFIX_LENGTH], hash=hash_of(each), role=Role.NODE, name="bench")
        for each in secrets
    )
    joined: dict[str, Any] = {"epoch": 1, "boot_id": "bench", "last_sync_at": now}
    kind = make_gpu_type("A100", clocks_mhz=CLOCKS_MHZ)
    nodes = make_nodes(cluster, kind, count, gpus=GPUS, prefix=name, tokens=tokens, **joined)
    gpus = list(Gpu.objects.filter(node__cluster=cluster).order_by("node_id", "index"))
    attempts = _work(cluster, nodes[::at_work], gpus, now) if at_work else {}
    operator = token_create(SYSTEM, name="bench", role=Role.OPERATOR)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return Fleet(
        cluster,
        operator.secret,
        [
            {
                "token": secret,
                "uuids": [gpu.uuid for gpu in gpus[row * GPUS : (row + 1) * GPUS]],
                "attempt": attempts.get(nodes[row].pk),
            }
            for row, secret in enumerate(secrets)
        ],
    )


def tenant() -> Tenant:
    return Tenant.objects.get_or_create(name="bench", defaults={"display_name": "bench"})[0]


def profile_of(owner: Tenant) -> Profile:
    """Half as fast at the lowest clock as at the highest, at a fifth of the watts."""
    known = Profile.objects.filter(tenant=owner, name="train").first()
    points = [
        {
            "gpu_type": "A100",
            "gpus": GPUS,
            "clock_mhz": mhz,
            "steps_per_s": 100 * (mhz / CLOCKS_MHZ[-1]) ** 0.8,
            "watts_per_gpu": 60 + 340 * (mhz / CLOCKS_MHZ[-1]) ** 3,
        }
        for mhz in CLOCKS_MHZ
    ]
    return known or make_profile(owner, "train", points)


def _work(
    cluster: Cluster, nodes: list[Node], gpus: list[Gpu], now: datetime
) -> dict[int, tuple[int, int]]:
    owner = tenant()
    profile = profile_of(owner)
    jobs = Job.objects.bulk_create(
        Job(cluster=cluster, tenant=owner, name="train", argv=["true"], min_gpus=GPUS,
            max_gpus=GPUS, state="running", submitted_at=now, started_at=now, profile=profile,
            work_total=10**9, estimated_run_s=10**6)
        for _ in nodes
    )  # fmt: skip
    attempts = Attempt.objects.bulk_create(
        Attempt(tenant=owner, job=job, cluster=cluster, number=1, fence=10**9 + job.pk,
                state="running", gpus=GPUS, offered_at=now, started_at=now)
        for job in jobs
    )  # fmt: skip
    by_node = {node.pk: attempt for node, attempt in zip(nodes, attempts, strict=True)}
    Part.objects.bulk_create(
        Part(tenant=owner, attempt=attempt, node_id=node, state="running", fetched_at=now)
        for node, attempt in by_node.items()
    )
    Allocation.objects.bulk_create(
        Allocation(tenant=owner, attempt=by_node[gpu.node_id], node_id=gpu.node_id, gpu=gpu,
                   cpus=1, memory_mib=1024, held_at=now)
        for gpu in gpus
        if gpu.node_id in by_node
    )  # fmt: skip
    Node.objects.filter(pk__in=by_node).update(gpus_in_use=GPUS, cpus_used=GPUS,
                                               memory_used_mib=GPUS * 1024)  # fmt: skip
    Tenant.objects.filter(pk=owner.pk).update(gpus_in_use=GPUS * len(nodes))
    return {node: (attempt.pk, attempt.fence) for node, attempt in by_node.items()}


def falsely_lost(fleet: Fleet) -> int:
    """All agents speak: who is lost is so by our own doing, and with the brake on all would be."""
    nodes = Node.objects.filter(cluster=fleet.cluster)
    if Cluster.objects.filter(pk=fleet.cluster.pk, brake_since_at__isnull=False).exists():
        return nodes.count()
    return nodes.exclude(state="ready").count()


def samples_kept(fleet: Fleet) -> int:
    gpus = Gpu.objects.filter(node__cluster=fleet.cluster).values("pk")
    return Sample.objects.filter(gpu_id__in=gpus).count()


def retire(fleet: Fleet) -> None:
    """Out of the way of the next fleet: its silence must not look like a loss."""
    Node.objects.filter(cluster=fleet.cluster).update(state="off", last_sync_at=None)
    Cluster.objects.filter(pk=fleet.cluster.pk).update(next_round_at=NEVER)
    with connection.cursor() as cursor:
        cursor.execute("TRUNCATE energy_sample, energy_sampleinbox")
        cursor.execute("ANALYZE")
