"""What policies expected jobs to cost when they placed them, against what came of it."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db import connection

from clusters.models import Cluster

# A prediction is of all that is left of a job. One that was overtaken by the next, as the job was
# moved, resized or started again, counts by the share of its time that the job ran under it; the
# last counts whole. Attempts before the first are left out of both sides. Tardiness is what the
# last one says, with the price per second that the policy took.
_COSTS = """
WITH ended AS (
    SELECT id, name, ended_at, deadline_at FROM jobs_job
    WHERE cluster_id = %s AND state = 'succeeded' AND ended_at >= %s AND ended_at < %s
), attempts AS (
    SELECT attempt.job_id, attempt.number, said.expected,
           coalesce(extract(epoch FROM attempt.ended_at - attempt.started_at), 0) AS ran_s,
           count(said.expected) OVER (PARTITION BY attempt.job_id ORDER BY attempt.number) AS nth
    FROM ended JOIN jobs_attempt attempt ON attempt.job_id = ended.id
    LEFT JOIN LATERAL (
        SELECT decision.evidence->'expected' AS expected FROM scheduling_decision decision
        WHERE decision.job_id = attempt.job_id AND decision.round_id = attempt.round_id
          AND decision.applied AND decision.evidence ? 'expected'
        ORDER BY decision.id LIMIT 1
    ) said ON true
), predictions AS (
    SELECT job_id, min(number) AS number, sum(ran_s) AS ran_s,
           (array_agg(expected ORDER BY number))[1] AS expected,
           nth = max(nth) OVER (PARTITION BY job_id) AS last
    FROM attempts WHERE nth > 0 GROUP BY job_id, nth
), predicted AS (
    SELECT job_id, min(number) AS number,
           sum(share * (expected->>'full_energy_cost')::numeric) AS full_energy,
           sum(share * (expected->>'marginal_energy_cost')::numeric) AS marginal_energy,
           sum((expected->>'tardiness_cost')::numeric) FILTER (WHERE last) AS tardiness,
           sum((expected->>'tardiness_weight')::numeric) FILTER (WHERE last) AS weight
    FROM (
        SELECT *, CASE WHEN last THEN 1 ELSE
            least(ran_s / nullif((expected->>'run_s')::numeric, 0), 1) END AS share
        FROM predictions) counted GROUP BY job_id
)
SELECT ended.id AS job_id, ended.name,
       predicted.full_energy::numeric(28, 12) AS predicted_full_energy,
       predicted.marginal_energy::numeric(28, 12) AS predicted_marginal_energy,
       predicted.tardiness::numeric(28, 12) AS predicted_tardiness,
       coalesce(paid.cost, 0) AS actual_full_energy,
       coalesce(predicted.weight * greatest(
           extract(epoch FROM ended.ended_at - ended.deadline_at), 0), 0)::numeric(28, 12)
           AS actual_tardiness,
       coalesce(paid.unpriced_mj, 0)::int8 AS unpriced_mj
FROM ended JOIN predicted ON predicted.job_id = ended.id
LEFT JOIN LATERAL (
    SELECT sum(entry.cost) AS cost,
           sum(entry.gpu_mj + entry.host_mj) FILTER (WHERE entry.price_per_kwh IS NULL)
               AS unpriced_mj
    FROM jobs_attempt attempt JOIN energy_ledgerrow entry ON entry.attempt_id = attempt.id
    WHERE attempt.job_id = ended.id AND attempt.number >= predicted.number
) paid ON true
ORDER BY ended.id
"""
_SUMMED = (
    "predicted_full_energy",
    "predicted_marginal_energy",
    "predicted_tardiness",
    "actual_full_energy",
    "actual_tardiness",
)


@dataclass(frozen=True, slots=True)
class CostReport:
    cluster: str
    currency: str | None
    from_at: datetime
    until_at: datetime
    jobs: int
    totals: dict[str, Any]
    lines: list[dict[str, Any]]


def cluster_costs(
    cluster: Cluster, *, from_at: datetime, until_at: datetime, limit: int
) -> CostReport:
    """Jobs that succeeded in the span; the lines are those furthest from what was expected."""
    with connection.cursor() as cursor:
        cursor.execute(_COSTS, [cluster.pk, from_at, until_at])
        names = [column.name for column in cursor.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    lines = [_with_errors(row) for row in rows]
    lines.sort(key=lambda line: (-abs(line["difference"]), line["job_id"]))
    return CostReport(
        cluster=cluster.name,
        currency=None if cluster.tariff is None else cluster.tariff.currency,
        from_at=from_at,
        until_at=until_at,
        jobs=len(rows),
        totals=_with_errors(
            {
                **{name: sum((row[name] for row in rows), Decimal(0)) for name in _SUMMED},
                "unpriced_mj": sum(row["unpriced_mj"] for row in rows),
            }
        ),
        lines=lines[:limit],
    )


def _with_errors(row: dict[str, Any]) -> dict[str, Any]:
    """With both full totals, and by how much the actual one is above the predicted."""
    predicted = row["predicted_full_energy"] + row["predicted_tardiness"]
    actual = row["actual_full_energy"] + row["actual_tardiness"]
    return {
        **row,
        "predicted_full": predicted,
        "actual_full": actual,
        "difference": actual - predicted,
        "deviation": float((actual - predicted) / predicted) if predicted else None,
    }
