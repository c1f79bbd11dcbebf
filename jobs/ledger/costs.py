"""What policies expected jobs to cost when they first placed them, against what came of it."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import connection

from clusters.models import Cluster

# The first decision that reckoned in money covers the whole job; the ledger has all its attempts.
# Tardiness is reckoned with the price per second that the policy took.
_COSTS = """
SELECT job.id AS job_id, job.name,
       (said.expected->>'energy_cost')::numeric(28, 12) AS predicted_energy,
       (said.expected->>'tardiness_cost')::numeric(28, 12) AS predicted_tardiness,
       coalesce(paid.cost, 0) AS actual_energy,
       coalesce((said.expected->>'tardiness_weight')::numeric * greatest(
           extract(epoch FROM job.ended_at - job.deadline_at), 0), 0)::numeric(28, 12)
           AS actual_tardiness,
       coalesce(paid.unpriced_mj, 0)::int8 AS unpriced_mj
FROM jobs_job job
JOIN LATERAL (
    SELECT decision.evidence->'expected' AS expected FROM jobs_decision decision
    WHERE decision.job_id = job.id AND decision.applied AND decision.evidence ? 'expected'
    ORDER BY decision.id LIMIT 1
) said ON true
LEFT JOIN LATERAL (
    SELECT sum(entry.cost) AS cost,
           sum(entry.gpu_mj + entry.host_mj) FILTER (WHERE entry.price_per_kwh IS NULL)
               AS unpriced_mj
    FROM jobs_attempt attempt JOIN jobs_ledgerrow entry ON entry.attempt_id = attempt.id
    WHERE attempt.job_id = job.id
) paid ON true
WHERE job.cluster_id = %s AND job.state = 'succeeded'
  AND job.ended_at >= %s AND job.ended_at < %s
ORDER BY job.id
"""
_SUMMED = ("predicted_energy", "predicted_tardiness", "actual_energy", "actual_tardiness")


@dataclass(frozen=True, slots=True)
class Costs:
    cluster: str
    currency: str | None
    from_at: datetime
    until_at: datetime
    jobs: int
    totals: dict[str, Any]
    lines: list[dict[str, Any]]


def cluster_costs(cluster: Cluster, *, from_at: datetime, until_at: datetime, limit: int) -> Costs:
    """Jobs that succeeded in the span; the lines are those furthest from what was expected."""
    with connection.cursor() as cursor:
        cursor.execute(_COSTS, [cluster.pk, from_at, until_at])
        names = [column.name for column in cursor.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    lines = [_told(row) for row in rows]
    lines.sort(key=lambda line: (-abs(line["difference"]), line["job_id"]))
    return Costs(
        cluster=cluster.name,
        currency=None if cluster.tariff is None else cluster.tariff.currency,
        from_at=from_at,
        until_at=until_at,
        jobs=len(rows),
        totals=_told(
            {
                **{name: sum((row[name] for row in rows), Decimal(0)) for name in _SUMMED},
                "unpriced_mj": sum(row["unpriced_mj"] for row in rows),
            }
        ),
        lines=lines[:limit],
    )


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """With both totals, and by how much the actual one is above the predicted."""
    predicted = row["predicted_energy"] + row["predicted_tardiness"]
    actual = row["actual_energy"] + row["actual_tardiness"]
    return {
        **row,
        "predicted": predicted,
        "actual": actual,
        "difference": actual - predicted,
        "deviation": float((actual - predicted) / predicted) if predicted else None,
    }
