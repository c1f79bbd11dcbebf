"""Clusters, queues and held work in the database, for tests, benchmarks and trials.

Rows are made as a round and the agents would have left them, counters included; nothing is audited.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from django.db.models import Count, F

from clusters.models import Cluster, Gpu, GpuType, Node, Rack, Switch
from jobs.models import Allocation, Attempt, Job, Profile, ProfilePoint
from jobs.sealed_env import sealed_env
from tenancy.models import ApiToken, Tenant

# As a node is whose agent can run whatever a job asks for, beside other tenants' jobs.
_ABLE: dict[str, Any] = {
    "container_tool": "podman",
    "wall": "namespaces",
    "workloads": True,
    "git": True,
}

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)


def make_tenant(name: str = "acme", **fields: Any) -> Tenant:
    return Tenant.objects.create(name=name, display_name=name, **fields)


def make_cluster(name: str = "c", policy: str = "fifo", **fields: Any) -> Cluster:
    return Cluster.objects.create(name=name, policy=policy, next_round_at=NOW, **fields)


def make_gpu_type(name: str = "A100", **fields: Any) -> GpuType:
    values = {"memory_mib": 81_920, "idle_w": 60, "max_w": 400, **fields}
    return GpuType.objects.get_or_create(name=name, defaults=values)[0]


def make_nodes(
    cluster: Cluster,
    gpu_types: GpuType | Sequence[GpuType],
    count: int,
    *,
    gpus: int = 8,
    per_rack: int = 8,
    racks_per_switch: int | None = None,
    prefix: str = "n",
    tokens: Sequence[ApiToken] = (),
    **fields: Any,
) -> list[Node]:
    """Ready nodes that take the types in turn; with `tokens` as if their agents had joined."""
    types = [gpu_types] if isinstance(gpu_types, GpuType) else gpu_types
    racks = _make_racks(cluster, prefix, -(-count // per_rack), racks_per_switch)
    values = {"state": Node.State.READY, "cpus": 64, "memory_mib": 524_288, **_ABLE, **fields}
    nodes = Node.objects.bulk_create(
        Node(
            cluster=cluster,
            gpu_type=types[number % len(types)],
            rack=racks[number // per_rack],
            name=f"{prefix}{number}",
            token=tokens[number] if tokens else None,
            **values,
        )
        for number in range(count)
    )
    Gpu.objects.bulk_create(
        Gpu(node=node, index=index, uuid=f"GPU-{node.pk}-{index}")
        for node in nodes
        for index in range(gpus)
    )
    return nodes


def _make_racks(cluster: Cluster, prefix: str, count: int, per_switch: int | None) -> list[Rack]:
    switches = Switch.objects.bulk_create(
        Switch(cluster=cluster, name=f"{prefix}-s{number}")
        for number in range(-(-count // per_switch) if per_switch else 0)
    )
    return Rack.objects.bulk_create(
        Rack(
            cluster=cluster,
            name=f"{prefix}-r{number}",
            switch=switches[number // per_switch] if per_switch else None,
        )
        for number in range(count)
    )


def make_profile(tenant: Tenant, name: str, points: Sequence[dict[str, Any]] = ()) -> Profile:
    basis = Profile.Basis.MEASURED if points else Profile.Basis.NEUTRAL
    profile = Profile.objects.create(tenant=tenant, name=name, basis=basis, updated_at=NOW)
    add_points(profile, points)
    return profile


def add_points(profile: Profile, points: Sequence[dict[str, Any]]) -> None:
    values = {"source": ProfilePoint.Source.GIVEN, "measured_at": NOW}
    ProfilePoint.objects.bulk_create(
        ProfilePoint(tenant_id=profile.tenant_id, profile=profile, **{**values, **point})
        for point in points
    )


def make_jobs(
    cluster: Cluster, tenants: Tenant | Sequence[Tenant], count: int, **fields: Any
) -> list[Job]:
    owners = [tenants] if isinstance(tenants, Tenant) else tenants
    values = {"argv": ["true"], "submitted_at": NOW, "min_gpus": 1, "max_gpus": 1, **fields}
    values.setdefault("memory_mib_per_gpu", 1024)
    env = values.pop("env", {})
    return Job.objects.bulk_create(
        Job(
            cluster=cluster,
            tenant=owners[number % len(owners)],
            name=f"j{number}",
            sealed_env=sealed_env(env, owners[number % len(owners)].name),
            env_names=sorted(env),
            **values,
        )
        for number in range(count)
    )


def hold(tenant: Tenant, node: Node, gpus: int = 1) -> Attempt:
    """An attempt that holds the node's first GPUs."""
    (job,) = make_jobs(node.cluster, tenant, 1)
    attempt = Attempt.objects.create(
        tenant=tenant,
        job=job,
        cluster=node.cluster,
        number=1,
        fence=Attempt.objects.count() + 1,
        gpus=gpus,
        offered_at=NOW,
    )
    Allocation.objects.bulk_create(
        Allocation(
            tenant=tenant, attempt=attempt, node=node, gpu=gpu, cpus=0, memory_mib=0, held_at=NOW
        )
        for gpu in Gpu.objects.filter(node=node).order_by("index")[:gpus]
    )
    Node.objects.filter(pk=node.pk).update(gpus_in_use=F("gpus_in_use") + gpus)
    return attempt


def release(attempt: Attempt) -> None:
    held = Allocation.objects.filter(attempt=attempt, released_at=None)
    for node_id, gpus in held.values_list("node").annotate(gpus=Count("id")).order_by("node"):
        Node.objects.filter(pk=node_id).update(gpus_in_use=F("gpus_in_use") - gpus)
    held.update(released_at=NOW)
