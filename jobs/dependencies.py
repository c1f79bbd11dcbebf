"""When a job ends, what waited for it becomes free to run, or can never run."""

from collections.abc import Sequence
from datetime import datetime

from django.db import connection

# The lock on the waiting jobs, in id order, keeps two predecessors that end at the same time from
# counting against each other.
_SETTLE = """
WITH settled AS (
    UPDATE jobs_jobdependency SET met_at = %(now)s
    WHERE on_job_id = ANY(%(ended)s) AND met_at IS NULL
      AND (kind = 'ended' OR %(succeeded)s)
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
"""

_DOOMED = """
SELECT DISTINCT job_id FROM jobs_jobdependency
WHERE on_job_id = ANY(%(ended)s) AND met_at IS NULL AND kind = 'succeeded'
"""


def settle(ended: Sequence[int], *, succeeded: bool, now: datetime) -> list[int]:
    """Count the ended jobs as met where that is what was waited for; return who can never run."""
    with connection.cursor() as cursor:
        cursor.execute(_SETTLE, {"ended": list(ended), "succeeded": succeeded, "now": now})
        if succeeded:
            return []
        cursor.execute(_DOOMED, {"ended": list(ended)})
        return [row[0] for row in cursor.fetchall()]
