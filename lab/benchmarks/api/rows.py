"""Rows for the API's benchmark: a tenant, a cluster, and a million jobs."""

from dataclasses import dataclass

from django.db import connection

from scheduler_service.factories import make_cluster, make_tenant
from tenancy.callers import SYSTEM
from tenancy.roles import Role
from tenancy.tokens import token_create

_MANY = """
INSERT INTO jobs_job (
    tenant_id, cluster_id, name, argv, min_gpus, max_gpus, gpu_types, cpus_per_gpu,
    memory_mib_per_gpu, span, priority, tardiness_price_per_h, work_done, attained_gpu_s,
    preemptible, restartable, restart_cost_s, state, reason, held, unmet_dependencies,
    submitted_at, ended_at, version)
SELECT %(tenant)s, %(cluster)s, 'train ' || n, ARRAY['python3', 'train.py'], 1, 1, '{}', 4,
    16384, 'any', 50, 0, 0, 0, true, true, 60, 'succeeded', 'exit_0', false, 0,
    now() - n * interval '1 second', now(), 1
FROM generate_series(1, %(count)s) n
"""
_ID_AT = "SELECT id FROM jobs_job WHERE tenant_id = %s ORDER BY id DESC OFFSET %s LIMIT 1"


@dataclass(frozen=True)
class ApiRows:
    tenant: int
    cluster: int
    member: str
    operator: str


def build() -> ApiRows:
    tenant = make_tenant("acme")
    cluster = make_cluster("demo")
    return ApiRows(
        tenant.pk,
        cluster.pk,
        token_create(SYSTEM, name="bench", role=Role.MEMBER, tenant_id=tenant.pk).secret,
        token_create(SYSTEM, name="bench", role=Role.OPERATOR).secret,
    )


def fill(made: ApiRows, count: int) -> None:
    """Ended jobs, as most of a million are; analysed, as autovacuum would have done by then."""
    with connection.cursor() as cursor:
        cursor.execute(_MANY, {"tenant": made.tenant, "cluster": made.cluster, "count": count})
        cursor.execute("VACUUM ANALYZE jobs_job")


def job_id_at(made: ApiRows, position: int) -> int:
    """The job that stands `position` places after the newest."""
    with connection.cursor() as cursor:
        cursor.execute(_ID_AT, [made.tenant, position])
        found: int = cursor.fetchone()[0]
    return found
