"""How far predictions of attempts were from what came of them, by GPU type and profile."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection

from clusters.models import Cluster

# Fewer attempts say too little; and how far the median of their energy may be from 1.
DRIFT_ATTEMPTS = 20
DRIFT_SHARE = 0.25

# A prediction is of all that is left of a job, so only the attempt that brought it to its end can
# be held against it. Money counts once all that was counted is in the ledger, at known prices.
_RATIOS = """
WITH ended AS (
    SELECT id, profile_id FROM jobs_job
    WHERE cluster_id = %s AND state = 'succeeded' AND ended_at >= %s AND ended_at < %s
), attempts AS (
    SELECT DISTINCT ON (attempt.job_id) attempt.id, attempt.job_id, attempt.round_id,
           ended.profile_id, attempt.predicted_by, attempt.predicted_gpu_mj,
           extract(epoch FROM attempt.ended_at - attempt.started_at) AS ran_s
    FROM ended JOIN jobs_attempt attempt ON attempt.job_id = ended.id
    ORDER BY attempt.job_id, attempt.number DESC
), ratios AS (
    SELECT held.gpu_type, attempts.profile_id, attempts.predicted_by,
           drawn.gpu_mj / nullif(attempts.predicted_gpu_mj, 0) AS energy,
           attempts.ran_s / nullif(said.run_s, 0) AS time,
           CASE WHEN said.cost > 0 AND paid.gpu_mj = drawn.gpu_mj AND paid.unpriced_mj = 0
               THEN paid.cost / said.cost END AS cost
    FROM attempts
    CROSS JOIN LATERAL (
        SELECT kind.name AS gpu_type FROM jobs_allocation allocation
        JOIN clusters_node node ON node.id = allocation.node_id
        JOIN clusters_gputype kind ON kind.id = node.gpu_type_id
        WHERE allocation.attempt_id = attempts.id ORDER BY allocation.id LIMIT 1
    ) held
    CROSS JOIN LATERAL (
        SELECT nullif(sum(now_mj - start_mj), 0) AS gpu_mj FROM energy_meter
        WHERE attempt_id = attempts.id
    ) drawn
    CROSS JOIN LATERAL (
        SELECT sum(cost) AS cost, sum(gpu_mj) AS gpu_mj,
               coalesce(sum(gpu_mj + host_mj) FILTER (WHERE price_per_kwh IS NULL), 0)
                   AS unpriced_mj
        FROM energy_ledgerrow WHERE attempt_id = attempts.id
    ) paid
    LEFT JOIN LATERAL (
        SELECT (evidence->'expected'->>'run_s')::numeric AS run_s,
               (evidence->'expected'->>'full_energy_cost')::numeric AS cost
        FROM scheduling_decision
        WHERE job_id = attempts.job_id AND round_id = attempts.round_id
          AND applied AND evidence ? 'expected'
        ORDER BY id LIMIT 1
    ) said ON true
)
SELECT ratios.gpu_type, tenant.name, profile.id, profile.name, ratios.predicted_by, count(*),
       count(energy), percentile_cont(%s::float8[]) WITHIN GROUP (ORDER BY energy::float8),
       count(time), percentile_cont(%s::float8[]) WITHIN GROUP (ORDER BY time::float8),
       count(cost), percentile_cont(%s::float8[]) WITHIN GROUP (ORDER BY cost::float8)
FROM ratios LEFT JOIN jobs_profile profile ON profile.id = ratios.profile_id
LEFT JOIN tenancy_tenant tenant ON tenant.id = profile.tenant_id
WHERE num_nonnulls(energy, time, cost) > 0
GROUP BY ratios.gpu_type, tenant.id, profile.id, ratios.predicted_by
ORDER BY count(*) DESC, ratios.gpu_type, profile.id, ratios.predicted_by
"""
_SHARES = [0.1, 0.5, 0.9]


@dataclass(frozen=True, slots=True)
class Ratio:
    """Of what came to what was predicted; None where nothing can be compared."""

    count: int
    low: float | None
    bias: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class CalibrationLine:
    gpu_type: str
    tenant: str | None
    profile_id: int | None
    profile: str | None
    predicted_by: str | None
    attempts: int
    energy_ratio: Ratio
    time_ratio: Ratio
    cost_ratio: Ratio

    @property
    def drifted(self) -> bool:
        energy = self.energy_ratio
        if energy.bias is None or energy.count < DRIFT_ATTEMPTS:
            return False
        return abs(energy.bias - 1) > DRIFT_SHARE


@dataclass(frozen=True, slots=True)
class CalibrationReport:
    cluster: str
    from_at: datetime
    until_at: datetime
    attempts: int
    lines: list[CalibrationLine]


def cluster_calibration(
    cluster: Cluster, *, from_at: datetime, until_at: datetime, limit: int
) -> CalibrationReport:
    """Of jobs that succeeded in the span; what drifted comes first, then what ran most often."""
    with connection.cursor() as cursor:
        cursor.execute(_RATIOS, [cluster.pk, from_at, until_at, _SHARES, _SHARES, _SHARES])
        lines = [_line(row) for row in cursor.fetchall()]
    lines.sort(key=lambda line: not line.drifted)
    return CalibrationReport(
        cluster=cluster.name,
        from_at=from_at,
        until_at=until_at,
        attempts=sum(line.attempts for line in lines),
        lines=lines[:limit],
    )


def _line(row: Sequence[Any]) -> CalibrationLine:
    """The group's names and size, then for each ratio how many there are and their spread."""
    counted = zip(row[6::2], row[7::2], strict=True)
    ratios = [Ratio(count, *(spread or (None, None, None))) for count, spread in counted]
    return CalibrationLine(*row[:6], *ratios)
