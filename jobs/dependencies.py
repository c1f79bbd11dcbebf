"""When a job ends, what waited for it becomes free to run, or can never run."""

from collections.abc import Sequence
from datetime import datetime

from jobs.prepared_statements import fetch

# The lock on the waiting jobs, in id order, keeps two predecessors that end at the same time from
# counting against each other.
_SETTLE = """
WITH settled AS (
    UPDATE jobs_jobdependency SET met_at = %(now)s::timestamptz
    WHERE on_job_id = ANY(%(ended)s::int8[]) AND met_at IS NULL
      AND (kind = 'ended' OR %(succeeded)s::bool)
    RETURNING job_id
), locked AS (
    SELECT job.id, counted.met
    FROM jobs_job job
    JOIN (SELECT job_id, count(*) AS met FROM settled GROUP BY job_id) counted
      ON counted.job_id = job.id
    ORDER BY job.id FOR UPDATE OF job
)
UPDATE jobs_job job SET unmet_dependencies = unmet_dependencies - locked.met, version = version + 1
FROM locked WHERE job.id = locked.id
RETURNING job.id
"""

_DOOMED = """
SELECT DISTINCT job_id FROM jobs_jobdependency
WHERE on_job_id = ANY(%(ended)s::int8[]) AND met_at IS NULL AND kind = 'succeeded'
"""


def settle(ended: Sequence[int], *, succeeded: bool, now: datetime) -> list[int]:
    """Count the ended jobs as met where that is what was waited for; return who can never run."""
    fetch(_SETTLE, {"ended": list(ended), "succeeded": succeeded, "now": now})
    if succeeded:
        return []
    return [job_id for (job_id,) in fetch(_DOOMED, {"ended": list(ended)})]
