"""What a placed attempt is expected to draw in full, written down before anybody knows better."""

import math
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from django.db import connection

from jobs.models import Attempt
from jobs.profiling.knowledge import applications
from jobs.profiling.performance.application import Application, Prediction

_HELD = """
SELECT attempt.id, job.profile_id, kind.name, count(*),
       sum(node.host_peak_w::float8 / greatest(hosted.gpus, 1)), attempt.gpus, attempt.clock_mhz,
       sum(allocation.cpus)::float8 / count(*), sum(allocation.memory_mib)::float8 / count(*),
       kind.max_w::float8, job.work_total, job.work_done, job.estimated_run_s::float8
FROM jobs_attempt attempt
JOIN jobs_job job ON job.id = attempt.job_id
JOIN jobs_allocation allocation ON allocation.attempt_id = attempt.id
JOIN clusters_node node ON node.id = allocation.node_id
JOIN clusters_gputype kind ON kind.id = node.gpu_type_id
CROSS JOIN LATERAL (SELECT count(*) AS gpus FROM clusters_gpu WHERE node_id = node.id) hosted
WHERE attempt.id = ANY(%s)
GROUP BY attempt.id, job.id, kind.id
ORDER BY attempt.id
"""

_WRITE = """
UPDATE jobs_attempt attempt
SET predicted_gpu_mj = expected.gpu_mj, predicted_host_mj = expected.host_mj,
    predicted_by = expected.basis
FROM unnest(%s::int8[], %s::int8[], %s::int8[], %s::text[])
    AS expected (id, gpu_mj, host_mj, basis)
WHERE attempt.id = expected.id
"""
MOST_MJ = 9 * 10**18
_NOTHING = Prediction(steps_per_s=math.nan, low=math.nan, high=math.nan, source="neutral")


class PredictedHolding(NamedTuple):
    """What an attempt holds of one GPU type, and what its job says of itself."""

    attempt_id: int
    profile_id: int | None
    gpu_type: str
    here: int
    host_w: float
    """Its share of the hosts' peaks, as `policies.pricing.cost` has it."""
    gpus: int
    clock_mhz: int | None
    cpus_per_gpu: float
    mem_mib_per_gpu: float
    max_w: float
    work_total: float | None
    work_done: float
    estimated_run_s: float | None


def predict(attempt_ids: Sequence[int]) -> None:
    """A handful of queries however many attempts; none is predicted whose run time nobody knows."""
    if not attempt_ids:
        return
    with connection.cursor() as cursor:
        cursor.execute(_HELD, [list(attempt_ids)])
        rows = [PredictedHolding(*row) for row in cursor.fetchall()]
    ids = {held.profile_id for held in rows if held.profile_id is not None}
    known = applications(sorted(ids)) if ids else {}
    predictions = []
    for attempt_id, held in groupby(rows, key=lambda one: one.attempt_id):
        pieces = list(held)
        predicted = _predicted(pieces, known.get(pieces[0].profile_id or 0))
        if predicted is not None:
            predictions.append((attempt_id, *predicted))
    if predictions:
        with connection.cursor() as cursor:
            cursor.execute(_WRITE, [list(column) for column in zip(*predictions, strict=True)])


def _predicted(
    pieces: Sequence[PredictedHolding], known: Application | None
) -> tuple[int, int, str] | None:
    """From the profile's watts and speed, else the type's most watts and the tenant's estimate.

    Of the GPUs and of their share of the hosts, apart: only the former are ever counted.
    """
    watts, speeds, by_profile = 0.0, [], True
    for piece in pieces:
        expected = _expected(piece, known) if known else _NOTHING
        predictions = expected if expected.source != "neutral" else _NOTHING
        by_profile &= not math.isnan(predictions.watts_per_gpu)
        watts += piece.here * (predictions.watts_per_gpu if by_profile else piece.max_w)
        speeds.append(predictions.steps_per_s)
    slowest = math.nan if any(map(math.isnan, speeds)) else min(speeds)
    run_s = _run_s(pieces[0], slowest)
    if run_s is None:
        return None
    basis = Attempt.Prediction.PROFILE if by_profile else Attempt.Prediction.NAMEPLATE
    host_w = sum(piece.host_w for piece in pieces)
    return _mj(watts, run_s), _mj(host_w, run_s), basis


def _mj(watts: float, run_s: float) -> int:
    return min(int(watts * run_s * 1000), MOST_MJ)


def _expected(piece: PredictedHolding, known: Application) -> Prediction:
    """0 CPUs are what others leave, 0 MiB no limit: how many that is, is not known."""
    return known.predict(
        piece.gpu_type,
        piece.gpus,
        float(piece.clock_mhz or 0),
        cpus_per_gpu=piece.cpus_per_gpu or math.nan,
        mem_mib_per_gpu=piece.mem_mib_per_gpu or math.nan,
    )


def _run_s(job: PredictedHolding, steps_per_s: float) -> float | None:
    """Work that is done is not done again."""
    if job.work_total is not None and steps_per_s > 0:
        return max(job.work_total - job.work_done, 0.0) / steps_per_s
    if job.estimated_run_s is None:
        return None
    done = job.work_done / job.work_total if job.work_total else 0.0
    return job.estimated_run_s * (1 - min(done, 1.0))
