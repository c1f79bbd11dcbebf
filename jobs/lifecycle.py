"""The legal moves of a job, and the only function that makes one.

    queued ──▶ placed ──▶ running ──▶ succeeded | failed
      ▲          │           │
      │          │           ▼
      └──────────┴──── preempting
    any of the four ──▶ cancelled; queued, placed, preempting ──▶ failed (it can never run)

State says where a job is; `reason` says why. A move is a conditional UPDATE that is counted: a job
that is no longer in an expected state is not moved, and the caller sees that from what comes back.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jobs.dependencies import settle
from jobs.models import Job
from jobs.prepared_statements import fetch

State = Job.State

MOVES: Mapping[State, frozenset[State]] = {
    State.QUEUED: frozenset({State.PLACED, State.FAILED, State.CANCELLED}),
    State.PLACED: frozenset(
        {State.RUNNING, State.PREEMPTING, State.QUEUED, State.FAILED, State.CANCELLED}
    ),
    State.RUNNING: frozenset(
        {State.PREEMPTING, State.QUEUED, State.SUCCEEDED, State.FAILED, State.CANCELLED}
    ),
    State.PREEMPTING: frozenset({State.QUEUED, State.SUCCEEDED, State.FAILED, State.CANCELLED}),
    State.SUCCEEDED: frozenset(),
    State.FAILED: frozenset(),
    State.CANCELLED: frozenset(),
}
TERMINAL = frozenset(state for state, following in MOVES.items() if not following)
LIVE = frozenset(MOVES) - TERMINAL

# One statement moves the jobs and appends their events, so neither exists without the other.
_ADVANCE = """
WITH before AS (
    SELECT id, state FROM jobs_job
    WHERE id = ANY(%(ids)s::int8[]) AND state = ANY(%(sources)s::text[])
    ORDER BY id FOR UPDATE
), moved AS (
    UPDATE jobs_job job SET
        state = %(to)s::text,
        reason = %(reason)s::text,
        version = version + 1,
        placed_at = CASE WHEN %(to)s::text = 'placed' THEN %(now)s::timestamptz
                         ELSE placed_at END,
        started_at = CASE WHEN %(to)s::text = 'running'
                          THEN coalesce(started_at, %(now)s::timestamptz) ELSE started_at END,
        ended_at = CASE WHEN %(terminal)s::bool THEN %(now)s::timestamptz END
    FROM before WHERE job.id = before.id
    RETURNING job.id, job.tenant_id, before.state AS from_state
)
INSERT INTO jobs_jobevent (tenant_id, job_id, at, from_state, to_state, reason, detail)
SELECT tenant_id, id, %(now)s::timestamptz, from_state, %(to)s::text, %(reason)s::text,
       %(detail)s::jsonb
FROM moved ORDER BY id
RETURNING job_id
"""


@dataclass(frozen=True)
class IllegalMove(Exception):
    """A programming error: the asked-for move is in nobody's diagram."""

    source: State
    target: State

    def __str__(self) -> str:
        return f"no job moves from {self.source} to {self.target}"


def advance(
    job_ids: Iterable[int],
    *,
    sources: Iterable[State],
    to: State,
    reason: str,
    now: datetime,
    detail: Mapping[str, Any] | None = None,
) -> list[int]:
    """Move those of the jobs that are in one of `sources`; return the ids that moved."""
    expected = list(sources)
    for source in expected:
        if to not in MOVES[source]:
            raise IllegalMove(source, to)
    moved = _move(job_ids, sources=expected, to=to, reason=reason, now=now, detail=detail or {})
    ended, state = moved, to
    # A loop, because a chain of jobs that wait for one another may be longer than the stack.
    while ended and state in TERMINAL:
        doomed = settle(ended, succeeded=state == State.SUCCEEDED, now=now)
        ended, state = _cancel_doomed(doomed, now), State.CANCELLED
    return moved


def _cancel_doomed(job_ids: list[int], now: datetime) -> list[int]:
    if not job_ids:
        return []
    reason = "dependency_failed"
    return _move(
        job_ids, sources=[State.QUEUED], to=State.CANCELLED, reason=reason, now=now, detail={}
    )


def _move(
    job_ids: Iterable[int],
    *,
    sources: Iterable[State],
    to: State,
    reason: str,
    now: datetime,
    detail: Mapping[str, Any],
) -> list[int]:
    values = {
        "ids": list(job_ids),
        "sources": [str(source) for source in sources],
        "to": str(to),
        "reason": reason,
        "now": now,
        "terminal": to in TERMINAL,
        "detail": json.dumps(dict(detail)),
    }
    return [job_id for (job_id,) in fetch(_ADVANCE, values)]
