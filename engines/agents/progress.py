"""How far attempts have come: of one report, or of all that came in since the last look."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from agent.wire import AttemptReport, Speed
from jobs.prepared_statements import fetch

_PROGRESS = """
WITH part AS (
    UPDATE jobs_part part SET progress_step = greatest(progress_step, %(step)s::int8),
                              checkpoint_step = greatest(checkpoint_step, %(checkpoint)s::int8),
                              speed_steps = %(speed_steps)s::int8, speed_s = %(speed_s)s::float8,
                              speed_mj = %(speed_mj)s::int8, speed_mj_s = %(speed_mj_s)s::float8,
                              speed_clock_mhz = %(speed_clock_mhz)s::int4,
                              speed_cpus = %(speed_cpus)s::int4
    WHERE attempt_id = %(attempt)s::int8 AND node_id = %(node)s::int8 AND state <> 'ended'
)
UPDATE jobs_job job
SET work_done = greatest(work_done, coalesce(%(step)s::int8, 0)),
    checkpoint_at = coalesce(%(checkpoint_at)s::timestamptz, checkpoint_at)
FROM jobs_attempt attempt
WHERE attempt.id = %(attempt)s::int8 AND attempt.fence = %(fence)s::int8
  AND job.id = attempt.job_id
"""
# A crash may forget the last step; an end that the agent was told is recorded may not.
_NOT_AT_ONCE = " RETURNING set_config('synchronous_commit', 'off', true)"

# A job that somebody else writes is passed over: its node says as much again with its next sync.
PROGRESS_OF_MANY = """
WITH said AS MATERIALIZED (
    SELECT * FROM unnest(
        %(attempt)s::int8[], %(fence)s::int8[], %(node)s::int8[], %(step)s::int8[],
        %(checkpoint)s::int8[], %(checkpoint_at)s::timestamptz[], %(speed_steps)s::int8[],
        %(speed_s)s::float8[], %(speed_mj)s::int8[], %(speed_mj_s)s::float8[],
        %(speed_clock_mhz)s::int4[], %(speed_cpus)s::int4[])
    AS said (attempt_id, fence, node_id, step, checkpoint, checkpoint_at, speed_steps, speed_s,
             speed_mj, speed_mj_s, speed_clock_mhz, speed_cpus)
), ours AS MATERIALIZED (
    SELECT said.*, attempt.job_id FROM said
    JOIN jobs_attempt attempt ON attempt.id = said.attempt_id AND attempt.fence = said.fence
), free AS MATERIALIZED (
    SELECT id FROM jobs_job WHERE id IN (SELECT job_id FROM ours)
    ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
), part AS (
    UPDATE jobs_part part SET progress_step = greatest(part.progress_step, ours.step),
                              checkpoint_step = greatest(part.checkpoint_step, ours.checkpoint),
                              speed_steps = ours.speed_steps, speed_s = ours.speed_s,
                              speed_mj = ours.speed_mj, speed_mj_s = ours.speed_mj_s,
                              speed_clock_mhz = ours.speed_clock_mhz, speed_cpus = ours.speed_cpus
    FROM ours JOIN free ON free.id = ours.job_id
    WHERE part.attempt_id = ours.attempt_id AND part.node_id = ours.node_id
      AND part.state <> 'ended'
)
UPDATE jobs_job job
SET work_done = greatest(work_done, coalesce(latest.step, 0)),
    checkpoint_at = coalesce(latest.checkpoint_at, job.checkpoint_at)
FROM (SELECT job_id, max(step) AS step, max(checkpoint_at) AS checkpoint_at
      FROM ours JOIN free ON free.id = ours.job_id GROUP BY job_id) latest
WHERE job.id = latest.job_id
RETURNING job.id
"""


@dataclass(frozen=True, slots=True)
class NodeProgress:
    node_id: int
    report: AttemptReport
    at: datetime


def write_progress(node_id: int, report: AttemptReport, now: datetime, *, at_once: bool) -> None:
    """The job's own columns feed the next round's estimate of what is left."""
    values = _values(NodeProgress(node_id, report, now))
    fetch(_PROGRESS + ("RETURNING job.id" if at_once else _NOT_AT_ONCE), values)


def columns(said: Sequence[NodeProgress]) -> dict[str, list[Any]]:
    """For PROGRESS_OF_MANY."""
    rows = [_values(each) for each in said]
    return {name: [row[name] for row in rows] for name in rows[0]}


def _values(said: NodeProgress) -> dict[str, Any]:
    report, age_s = said.report, said.report.checkpoint_age_s
    return {
        "attempt": report.attempt_id,
        "fence": report.fence,
        "node": said.node_id,
        "step": report.progress_step,
        "checkpoint": report.checkpoint_step,
        "checkpoint_at": None if age_s is None else said.at - timedelta(seconds=age_s),
        **_speed(report.speed),
    }


_SPEED = {
    "speed_steps": "steps",
    "speed_s": "steps_s",
    "speed_mj": "energy_mj",
    "speed_mj_s": "energy_s",
    "speed_clock_mhz": "clock_mhz",
    "speed_cpus": "cpus",
}


def _speed(speed: Speed | None) -> dict[str, Any]:
    """Of the clock and CPUs that it has now: what was measured before them is no longer true."""
    return {column: getattr(speed, name, None) for column, name in _SPEED.items()}
