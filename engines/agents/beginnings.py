"""Attempts begin to run: all that one sync tells of in one transaction, for a round starts many."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from agent.wire import AttemptReport
from energy.ledger.meters import meters_read
from engines.agents.progress import PROGRESS_OF_MANY, NodeProgress, columns
from jobs.lifecycle import State, advance
from jobs.prepared_statements import fetch

_LOCK = """
SELECT id FROM jobs_job
WHERE id IN (SELECT job_id FROM jobs_attempt WHERE id = ANY(%(attempts)s::int8[]))
ORDER BY id FOR NO KEY UPDATE
"""
# What is over, or was told before, stays as it is.
_PARTS = """
WITH live AS MATERIALIZED (
    SELECT id FROM jobs_attempt WHERE id = ANY(%(attempts)s::int8[])
      AND state NOT IN ('ended', 'lost')
    ORDER BY id FOR NO KEY UPDATE
)
UPDATE jobs_part part SET state = 'running', log_bytes_dropped = said.dropped
FROM unnest(%(attempts)s::int8[], %(dropped)s::int8[]) AS said (attempt_id, dropped)
JOIN live ON live.id = said.attempt_id
WHERE part.attempt_id = said.attempt_id AND part.node_id = %(node)s::int8
  AND part.state = 'starting'
RETURNING part.attempt_id
"""
# A gang runs when all its parts do.
_ATTEMPTS = """
UPDATE jobs_attempt attempt SET state = 'running', started_at = %(now)s::timestamptz
WHERE id = ANY(%(attempts)s::int8[]) AND state IN ('offered', 'starting') AND NOT EXISTS (
    SELECT 1 FROM jobs_part part WHERE part.attempt_id = attempt.id AND part.state <> 'running')
RETURNING job_id
"""


@transaction.atomic
def attempts_begin(
    node_id: int, reports: Sequence[AttemptReport], boot_id: str, now: datetime
) -> int:
    """How many meter readings that came along cannot be true."""
    attempts = [report.attempt_id for report in reports]
    dropped = [report.log_bytes_dropped for report in reports]
    fetch(_LOCK, {"attempts": attempts})
    parts = fetch(_PARTS, {"attempts": attempts, "dropped": dropped, "node": node_id})
    begun = {attempt_id for (attempt_id,) in parts}
    told = [report for report in reports if report.attempt_id in begun]
    if not told:
        return 0
    fetch(PROGRESS_OF_MANY, columns([NodeProgress(node_id, report, now) for report in told]))
    refused = meters_read(node_id, boot_id, told, now=now)
    jobs = [job_id for (job_id,) in fetch(_ATTEMPTS, {"attempts": list(begun), "now": now})]
    if jobs:
        advance(jobs, sources=[State.PLACED], to=State.RUNNING, reason="started", now=now)
    return refused
