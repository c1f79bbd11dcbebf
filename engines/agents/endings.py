"""Attempts end well, in the usual way: all that one sync tells of in one transaction.

What needs more than that, a gang, a stop, a move, artifacts, is left to `incoming`, one by one.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from agent.wire import AttemptReport, End
from energy.ledger.meters import meters_read
from engines.agents.progress import PROGRESS_OF_MANY, NodeProgress, columns
from jobs.attempts import attempts_end
from jobs.lifecycle import State, advance
from jobs.models import Attempt
from jobs.nudge import nudge
from jobs.prepared_statements import fetch

WELL = "exit_0"

# Where an attempt's GPUs are never changes, so that nobody else has a part in these.
_LOCK = """
SELECT attempt.id, job.id, job.state, attempt.number, job.cluster_id
FROM unnest(%(attempts)s::int8[], %(fences)s::int8[]) AS said (attempt_id, fence)
JOIN jobs_attempt attempt ON attempt.id = said.attempt_id AND attempt.fence = said.fence
JOIN jobs_job job ON job.id = attempt.job_id
WHERE attempt.state IN ('offered', 'starting', 'running') AND attempt.relocation IS NULL
  AND attempt.reason <> 'cancel_requested'
  AND job.state IN ('placed', 'running') AND job.artifacts = '[]'
  AND EXISTS (SELECT 1 FROM jobs_part part WHERE part.attempt_id = attempt.id
              AND part.node_id = %(node)s::int8 AND part.state <> 'ended')
  AND NOT EXISTS (SELECT 1 FROM jobs_allocation elsewhere
                  WHERE elsewhere.attempt_id = attempt.id AND elsewhere.node_id <> %(node)s::int8)
ORDER BY job.id FOR NO KEY UPDATE OF job, attempt
"""
_KEEP_ENDS = """
WITH said AS MATERIALIZED (
    SELECT * FROM unnest(%(attempts)s::int8[], %(ended_at)s::timestamptz[], %(details)s::text[],
                         %(dropped)s::int8[], %(out_of_memory)s::bool[])
    AS said (attempt_id, ended_at, detail, dropped, out_of_memory)
), part AS (
    UPDATE jobs_part part SET state = 'ended', "end" = 'exited', exit_code = 0, signal = NULL,
        failed_rank = NULL, ended_at = said.ended_at, detail = said.detail,
        log_bytes_dropped = said.dropped, out_of_memory = said.out_of_memory
    FROM said WHERE part.attempt_id = said.attempt_id AND part.node_id = %(node)s::int8
)
UPDATE jobs_attempt attempt SET exit_code = 0, signal = NULL, detail = said.detail,
                                out_of_memory = said.out_of_memory
FROM said WHERE attempt.id = said.attempt_id
RETURNING attempt.id
"""


@dataclass(frozen=True, slots=True)
class EndedWell:
    """Which attempts, and how many meter readings that came along cannot be true."""

    attempt_ids: frozenset[int] = frozenset()
    refused: int = 0


@dataclass(frozen=True, slots=True)
class _Locked:
    attempt_id: int
    job_id: int
    job_state: str
    number: int
    cluster_id: int


def attempts_succeed(
    node_id: int, reports: Sequence[AttemptReport], boot_id: str, now: datetime
) -> EndedWell:
    """Of the reports, all of ends, those that say so and need nothing else."""
    well = [each for each in reports if each.end is End.EXITED and each.exit_code == 0]
    return _end(node_id, well, boot_id, now) if well else EndedWell()


@transaction.atomic
def _end(node_id: int, reports: Sequence[AttemptReport], boot_id: str, now: datetime) -> EndedWell:
    locked = _lock(node_id, reports)
    told = [report for report in reports if report.attempt_id in locked]
    if not told:
        return EndedWell()
    fetch(PROGRESS_OF_MANY, columns([NodeProgress(node_id, report, now) for report in told]))
    fetch(_KEEP_ENDS, _ends(node_id, told, now))
    refused = meters_read(node_id, boot_id, told, now=now)
    attempts_end(locked, state=Attempt.State.ENDED, reason=WELL, now=now)
    _succeed(list(locked.values()), now)
    return EndedWell(frozenset(locked), refused)


def _lock(node_id: int, reports: Sequence[AttemptReport]) -> dict[int, _Locked]:
    values = {
        "attempts": [report.attempt_id for report in reports],
        "fences": [report.fence for report in reports],
        "node": node_id,
    }
    rows = [_Locked(*row) for row in fetch(_LOCK, values)]
    return {row.attempt_id: row for row in rows}


def _ends(node_id: int, reports: Sequence[AttemptReport], now: datetime) -> dict[str, Any]:
    return {
        "node": node_id,
        "attempts": [report.attempt_id for report in reports],
        "ended_at": [now - timedelta(seconds=report.ended_age_s or 0) for report in reports],
        "details": [report.detail for report in reports],
        "dropped": [report.log_bytes_dropped for report in reports],
        "out_of_memory": [report.out_of_memory for report in reports],
    }


def _succeed(ended: Sequence[_Locked], now: datetime) -> None:
    """A short job may be over before anybody heard that it runs."""
    if unheard := [each.job_id for each in ended if each.job_state == State.PLACED]:
        advance(unheard, sources=[State.PLACED], to=State.RUNNING, reason="started", now=now)
    by_number: dict[int, list[int]] = defaultdict(list)
    for each in ended:
        by_number[each.number].append(each.job_id)
    for number, jobs in sorted(by_number.items()):
        detail = {"attempt": number, "detail": ""}
        advance(jobs, sources=[State.RUNNING], to=State.SUCCEEDED, reason=WELL, now=now,
                detail=detail)  # fmt: skip
    for cluster_id in {each.cluster_id for each in ended}:
        nudge(cluster_id)
