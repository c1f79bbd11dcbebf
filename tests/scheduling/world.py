"""Small clusters and queues in the database, for tests and benchmarks of the round."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from clusters.models import Cluster, Gpu, GpuType, Node, Rack
from jobs.models import Job, Profile, ProfilePoint
from tenancy.models import Tenant

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)


def make_tenant(name: str = "acme", **fields: Any) -> Tenant:
    return Tenant.objects.create(name=name, display_name=name, **fields)


def make_cluster(name: str = "c", policy: str = "fifo", **fields: Any) -> Cluster:
    return Cluster.objects.create(name=name, policy=policy, next_round_at=NOW, **fields)


def make_gpu_type(name: str = "A100", **fields: Any) -> GpuType:
    values = {"memory_mib": 81920, "idle_w": 60, "max_w": 400, **fields}
    return GpuType.objects.create(name=name, **values)


def make_nodes(
    cluster: Cluster,
    gpu_type: GpuType,
    count: int,
    *,
    gpus: int = 8,
    cpus: int = 64,
    memory_mib: int = 524_288,
    per_rack: int = 8,
    prefix: str = "n",
) -> list[Node]:
    racks = Rack.objects.bulk_create(
        Rack(cluster=cluster, name=f"{prefix}-r{number}")
        for number in range((count + per_rack - 1) // per_rack)
    )
    nodes = Node.objects.bulk_create(
        Node(
            cluster=cluster,
            gpu_type=gpu_type,
            rack=racks[number // per_rack],
            name=f"{prefix}{number}",
            state=Node.State.READY,
            cpus=cpus,
            memory_mib=memory_mib,
        )
        for number in range(count)
    )
    Gpu.objects.bulk_create(
        Gpu(node=node, index=index, uuid=f"GPU-{node.pk}-{index}")
        for node in nodes
        for index in range(gpus)
    )
    return nodes


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
    return Job.objects.bulk_create(
        Job(cluster=cluster, tenant=owners[number % len(owners)], name=f"j{number}", **values)
        for number in range(count)
    )
