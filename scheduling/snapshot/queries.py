"""The bulk reads of a round; each returns only int8 and float8 columns, never NULL.

The whole snapshot takes the same number of queries however long the queue is. Rows are bounded:
of each tenant's queue the first TENANT_WINDOW jobs by priority and age, of all tenants together
the first QUEUE_WINDOW. `{cluster}` is a bigint and `{now_s}` a float; nothing else is interpolated.

A job that is being moved is seen where it goes: it runs there, at its new clock, and cannot be
stopped again meanwhile. What it leaves is free only once it has stopped.
"""

from clusters.services.site_power import SWITCHED_ON

TENANT_WINDOW = 10_000
QUEUE_WINDOW = 20_000
SPEED_STEPS = 5

_MOVING = (
    "attempt.state NOT IN ('ended', 'lost') AND attempt.relocation_until_at > to_timestamp({now_s})"
)

# The new places of jobs on their way, a row per node.
_RELOCATIONS = f"""
SELECT attempt.id AS attempt_id, attempt.job_id, piece.node AS node_id, piece.cpus, piece.mem_mib,
       (SELECT bit_or(1::int8 << index::int)
        FROM jsonb_array_elements_text(piece.gpus) index) AS gpus
FROM jobs_attempt attempt
CROSS JOIN LATERAL jsonb_to_recordset(attempt.relocation->'pieces')
     AS piece (node int8, gpus jsonb, cpus int8, mem_mib int8)
WHERE attempt.cluster_id = {{cluster}} AND {_MOVING}
"""

NODES = f"""
WITH relocation AS ({_RELOCATIONS}), kept AS (
    -- Beyond what the job holds there already and gives back.
    SELECT relocation.node_id, bit_or(relocation.gpus) AS gpus,
           sum(greatest(relocation.cpus - coalesce(own.cpus, 0), 0)) AS cpus,
           sum(greatest(relocation.mem_mib - coalesce(own.mem_mib, 0), 0)) AS mem_mib
    FROM relocation LEFT JOIN LATERAL (
        SELECT sum(cpus) AS cpus, sum(memory_mib) AS mem_mib FROM jobs_allocation held
        WHERE held.attempt_id = relocation.attempt_id AND held.node_id = relocation.node_id
          AND held.released_at IS NULL
    ) own ON true
    GROUP BY relocation.node_id
)
SELECT node.id, CASE WHEN node.state = 'joining' AND node.state_reason = '{SWITCHED_ON}'
           THEN 8 ELSE array_position(
           ARRAY['ready', 'draining', 'off', 'joining', 'drained', 'lost', 'quarantined'],
           node.state) END::int8,
       coalesce(node.partition_id, -1), node.gpu_type_id,
       coalesce(node.rack_id, -1), coalesce(rack.switch_id, -1),
       node.cpus::int8, greatest(node.cpus - node.cpus_used - coalesce(kept.cpus, 0), 0)::int8,
       node.memory_mib,
       greatest(node.memory_mib - node.memory_used_mib - coalesce(kept.mem_mib, 0), 0)::int8,
       node.host_idle_w::float8, node.host_peak_w::float8,
       coalesce(gpus.total, 0), coalesce(gpus.healthy, 0),
       coalesce(gpus.held, 0) | coalesce(kept.gpus, 0)
FROM clusters_node node
LEFT JOIN kept ON kept.node_id = node.id
LEFT JOIN clusters_rack rack ON rack.id = node.rack_id
LEFT JOIN (
    SELECT gpu.node_id, count(*) AS total,
           bit_or(1::int8 << gpu.index) FILTER (WHERE gpu.healthy AND gpu.fault = '') AS healthy,
           bit_or(1::int8 << gpu.index) FILTER (WHERE allocation.id IS NOT NULL) AS held
    FROM clusters_gpu gpu
    JOIN clusters_node home ON home.id = gpu.node_id AND home.cluster_id = {{cluster}}
    LEFT JOIN jobs_allocation allocation
           ON allocation.gpu_id = gpu.id AND allocation.released_at IS NULL
    GROUP BY gpu.node_id
) gpus ON gpus.node_id = node.id
WHERE node.cluster_id = {{cluster}}
ORDER BY node.id
"""

_JOB_COLUMNS = """
    job.id, job.tenant_id, coalesce(job.profile_id, -1), coalesce(job.partition_id, -1),
    job.held::int::int8, job.unmet_dependencies::int8, job.priority::int8,
    extract(epoch FROM job.submitted_at)::float8,
    coalesce(extract(epoch FROM job.deadline_at)::float8, 'infinity'),
    (job.tardiness_price_per_h / 3600)::float8,
    job.min_gpus::int8, job.max_gpus::int8,
    CASE WHEN cardinality(job.gpu_types) = 0 THEN -1 ELSE coalesce((
        SELECT bit_or(1::int8 << kind.bit::int) FROM kinds kind
        WHERE kind.name = ANY(job.gpu_types)), 0) END,
    job.cpus_per_gpu::int8, job.memory_mib_per_gpu::int8,
    array_position(ARRAY['node', 'rack', 'switch', 'any'], job.span)::int8,
    {preemptible}::int::int8,
    coalesce(job.work_total, 'nan'), job.work_done, job.attained_gpu_s,
    coalesce(job.estimated_run_s::float8, 'nan'),
    coalesce(extract(epoch FROM job.checkpoint_at)::float8, 'nan'),
    job.restart_cost_s::float8
"""

_IS_MOVING = "coalesce(attempt.relocation_until_at > to_timestamp({now_s}), false)"

JOBS = f"""
WITH kinds AS (SELECT name, row_number() OVER (ORDER BY id) - 1 AS bit FROM clusters_gputype),
heads AS (
    SELECT job.* FROM tenancy_tenant tenant
    CROSS JOIN LATERAL (
        SELECT * FROM jobs_job
        WHERE cluster_id = {{cluster}} AND tenant_id = tenant.id AND state = 'queued'
        ORDER BY priority DESC, id LIMIT {TENANT_WINDOW}
    ) job
    ORDER BY job.priority DESC, job.id LIMIT {QUEUE_WINDOW}
)
SELECT 0::int8 AS state, {_JOB_COLUMNS.format(preemptible="job.preemptible")},
       'nan'::float8, 0::int8, 0::int8, 'nan'::float8 FROM heads job
UNION ALL
-- One that is asked to stop is no longer anybody's to plan with, whoever asked.
SELECT CASE WHEN attempt.state = 'stopping' AND NOT {_IS_MOVING} THEN 2 ELSE 1 END::int8,
       {_JOB_COLUMNS.format(preemptible=f"(job.preemptible AND NOT {_IS_MOVING})")},
       extract(epoch FROM coalesce(attempt.started_at, attempt.offered_at))::float8,
       CASE WHEN {_IS_MOVING} THEN (attempt.relocation->>'clock_mhz')::int8
            ELSE coalesce(attempt.clock_mhz, 0)::int8 END,
       attempt.gpus::int8,
       -- Of a gang only one node hears of steps; a few of them are no speed yet. A job on its way
       -- has none where it goes.
       coalesce((SELECT max(part.speed_steps / part.speed_s) FROM jobs_part part
                 WHERE part.attempt_id = attempt.id AND part.speed_steps >= {SPEED_STEPS}
                   AND part.speed_s > 0 AND NOT {_IS_MOVING}), 'nan')
FROM jobs_job job
JOIN jobs_attempt attempt ON attempt.job_id = job.id AND attempt.state NOT IN ('ended', 'lost')
WHERE job.cluster_id = {{cluster}} AND job.state IN ('placed', 'running', 'preempting')
ORDER BY 2
"""

PLACEMENTS = f"""
SELECT attempt.job_id, gpu.node_id, bit_or(1::int8 << gpu.index),
       sum(allocation.cpus)::int8, sum(allocation.memory_mib)::int8
FROM jobs_attempt attempt
JOIN jobs_allocation allocation
  ON allocation.attempt_id = attempt.id AND allocation.released_at IS NULL
JOIN clusters_gpu gpu ON gpu.id = allocation.gpu_id
WHERE attempt.cluster_id = {{cluster}} AND attempt.state NOT IN ('ended', 'lost')
  AND NOT {_IS_MOVING}
GROUP BY attempt.job_id, gpu.node_id
UNION ALL
SELECT job_id, node_id, gpus, cpus, mem_mib FROM ({_RELOCATIONS}) relocation
ORDER BY 1, 2
"""

TENANTS = """
SELECT id, weight::float8,
       -- A suspended tenant keeps what it has and gets nothing more.
       CASE WHEN suspended THEN gpus_in_use ELSE coalesce(gpu_quota, -1) END::int8,
       gpus_in_use::int8,
       coalesce(energy_budget_wh * 3600.0::float8, 'infinity')
FROM tenancy_tenant ORDER BY id
"""

QUOTAS = """
SELECT tenant_id, gpu_type_id, gpus::int8, gpus_in_use::int8 FROM jobs_gpuquota ORDER BY id
"""
