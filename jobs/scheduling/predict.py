"""What a placed attempt is expected to draw, written down before anybody can know better."""

from collections.abc import Sequence

from django.db import connection

# Watts and speed from the profile's point for this type and number of GPUs (at this clock, if it
# was measured), else the type's most watts and the tenant's estimate. Work that is done is not done
# again. Without either there is no prediction.
_PREDICT = """
WITH held AS (
    SELECT attempt.id, attempt.gpus, attempt.clock_mhz, node.gpu_type_id, count(*) AS here
    FROM jobs_attempt attempt
    JOIN jobs_allocation allocation ON allocation.attempt_id = attempt.id
    JOIN clusters_node node ON node.id = allocation.node_id
    WHERE attempt.id = ANY(%s)
    GROUP BY attempt.id, node.gpu_type_id
), expected AS (
    SELECT held.id, sum(held.here * coalesce(point.watts, kind.max_w)) AS watts,
           bool_and(point.watts IS NOT NULL) AS by_profile,
           CASE WHEN bool_and(point.steps_per_s > 0) AND min(job.work_total) IS NOT NULL
                THEN greatest(min(job.work_total - job.work_done), 0) / min(point.steps_per_s)
                ELSE min(job.estimated_run_s)
                     * (1 - least(coalesce(min(job.work_done / nullif(job.work_total, 0)), 0), 1))
                END AS run_s
    FROM held
    JOIN jobs_attempt attempt ON attempt.id = held.id
    JOIN jobs_job job ON job.id = attempt.job_id
    JOIN clusters_gputype kind ON kind.id = held.gpu_type_id
    LEFT JOIN jobs_profile profile ON profile.id = job.profile_id
    LEFT JOIN LATERAL (
        SELECT (point->>'watts_per_gpu')::float8 AS watts,
               (point->>'steps_per_s')::float8 AS steps_per_s
        FROM jsonb_array_elements(profile.points) point
        WHERE point->>'gpu_type' = kind.name AND (point->>'gpus')::int = held.gpus
        ORDER BY (point->>'clock_mhz')::int IS NOT DISTINCT FROM held.clock_mhz DESC
        LIMIT 1
    ) point ON true
    GROUP BY held.id
)
UPDATE jobs_attempt attempt
SET predicted_mj = least(expected.watts * expected.run_s * 1000, 9e18)::int8,
    predicted_by = CASE WHEN expected.by_profile THEN 'profile' ELSE 'nameplate' END
FROM expected WHERE attempt.id = expected.id AND expected.run_s IS NOT NULL
"""


def predict(attempt_ids: Sequence[int]) -> None:
    if attempt_ids:
        with connection.cursor() as cursor:
            cursor.execute(_PREDICT, [list(attempt_ids)])
