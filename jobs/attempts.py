"""Attempts begin and end here; counters of nodes, tenants and quotas move in the same transaction.

Locks are always taken in the order jobs, nodes, tenants, quotas, each by ascending id.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from jobs.models import Attempt
from jobs.prepared_statements import fetch

_LOCK = """
SELECT 1 FROM clusters_node WHERE id IN (
    SELECT node_id FROM jobs_allocation
    WHERE attempt_id = ANY(%(attempts)s::int8[]) AND released_at IS NULL)
ORDER BY id FOR NO KEY UPDATE
"""
# One attempt is one tenant's, and has one type of GPU.
_LOCK_TENANTS = """
SELECT 1 FROM tenancy_tenant
WHERE id IN (SELECT tenant_id FROM jobs_attempt WHERE id = ANY(%(attempts)s::int8[]))
ORDER BY id FOR NO KEY UPDATE
"""
_LOCK_QUOTAS = """
SELECT 1 FROM jobs_gpuquota
WHERE tenant_id IN (SELECT tenant_id FROM jobs_attempt WHERE id = ANY(%(attempts)s::int8[]))
ORDER BY id FOR NO KEY UPDATE
"""

_END = """
WITH over AS (
    UPDATE jobs_attempt SET state = %(state)s, reason = %(reason)s,
                            ended_at = %(now)s::timestamptz
    WHERE id = ANY(%(attempts)s::int8[]) AND state NOT IN ('ended', 'lost')
    RETURNING id, job_id, gpus, coalesce(started_at, %(now)s::timestamptz) AS started_at
), freed AS (
    UPDATE jobs_allocation allocation SET released_at = %(now)s::timestamptz
    FROM over, clusters_node node
    WHERE allocation.attempt_id = over.id AND allocation.released_at IS NULL
      AND node.id = allocation.node_id
    RETURNING allocation.tenant_id, allocation.node_id, allocation.cpus,
              allocation.memory_mib, node.gpu_type_id
), nodes AS (
    UPDATE clusters_node node
    SET gpus_in_use = gpus_in_use - back.gpus, cpus_used = cpus_used - back.cpus,
        memory_used_mib = memory_used_mib - back.memory_mib, idle_since_at = %(now)s::timestamptz
    FROM (SELECT node_id, count(*) AS gpus, sum(cpus) AS cpus, sum(memory_mib) AS memory_mib
          FROM freed GROUP BY node_id) back
    WHERE node.id = back.node_id
), tenants AS (
    UPDATE tenancy_tenant tenant SET gpus_in_use = gpus_in_use - back.gpus
    FROM (SELECT tenant_id, count(*) AS gpus FROM freed GROUP BY tenant_id) back
    WHERE tenant.id = back.tenant_id
), quotas AS (
    UPDATE jobs_gpuquota quota SET gpus_in_use = gpus_in_use - back.gpus
    FROM (SELECT tenant_id, gpu_type_id, count(*) AS gpus
          FROM freed GROUP BY tenant_id, gpu_type_id) back
    WHERE quota.tenant_id = back.tenant_id AND quota.gpu_type_id = back.gpu_type_id
), service AS (
    UPDATE jobs_job job SET attained_gpu_s = attained_gpu_s
        + over.gpus * greatest(extract(epoch FROM %(now)s::timestamptz - over.started_at), 0)
    FROM over WHERE job.id = over.job_id
)
SELECT id FROM over
"""


def attempts_end(
    attempt_ids: Iterable[int], *, state: Attempt.State, reason: str, now: datetime
) -> list[int]:
    """End those attempts that live and free what they hold; return the ids that ended."""
    attempts = {"attempts": list(attempt_ids)}
    fetch(_LOCK, attempts)
    if len(attempts["attempts"]) > 1:
        fetch(_LOCK_TENANTS, attempts)
        fetch(_LOCK_QUOTAS, attempts)
    ended: dict[str, Any] = {"state": str(state), "reason": reason, "now": now}
    return [attempt_id for (attempt_id,) in fetch(_END, attempts | ended)]


def live_attempts(job_ids: Iterable[int]) -> list[int]:
    return list(
        Attempt.objects.filter(job_id__in=list(job_ids))
        .exclude(state__in=(Attempt.State.ENDED, Attempt.State.LOST))
        .order_by("pk")
        .values_list("pk", flat=True)
    )
