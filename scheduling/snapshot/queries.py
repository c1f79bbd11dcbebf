"""The bulk reads of a round, each column declared once.

A column that the snapshot's table has by the same name gets there by itself (load.py); a new one is
one line here. The whole snapshot takes the same number of queries however long the queue is. Rows
are bounded: of each tenant's queue the first TENANT_WINDOW jobs by priority and age, of all tenants
together the first QUEUE_WINDOW. `{cluster}` is a bigint and `{now_s}` a float; nothing else is
interpolated.

A job that is being moved is seen where it goes: it runs there, at its new clock, and cannot be
stopped again meanwhile. What it leaves is free only once it has stopped.
"""

from clusters.services.site_power import SWITCHED_ON
from policies.contract.snapshot import NodeState
from scheduling.snapshot.copy_read import Column, Query, second_selected, selected

TENANT_WINDOW = 10_000
QUEUE_WINDOW = 20_000
SPEED_STEPS = 5

_MOVING = (
    "attempt.state NOT IN ('ended', 'lost') AND attempt.relocation_until_at > to_timestamp({now_s})"
)
_IS_MOVING = "coalesce(attempt.relocation_until_at > to_timestamp({now_s}), false)"

# The new places of jobs on their way, a row per node.
_RELOCATIONS = f"""
SELECT attempt.id AS attempt_id, attempt.tenant_id, attempt.job_id, piece.node AS node_id,
       piece.cpus, piece.mem_mib,
       (SELECT bit_or(1::int8 << index::int)
        FROM jsonb_array_elements_text(piece.gpus) index) AS gpus
FROM jobs_attempt attempt
CROSS JOIN LATERAL jsonb_to_recordset(attempt.relocation->'pieces')
     AS piece (node int8, gpus jsonb, cpus int8, mem_mib int8)
WHERE attempt.cluster_id = {{cluster}} AND {_MOVING}
"""

# As the policies' contract numbers them.
_NODE_STATE = f"""
CASE WHEN node.state = 'joining' AND node.state_reason = '{SWITCHED_ON}' THEN {NodeState.BOOTING:d}
     WHEN node.state = 'ready' THEN {NodeState.READY:d}
     WHEN node.state = 'draining' THEN {NodeState.DRAINING:d}
     WHEN node.state = 'off' THEN {NodeState.OFF:d}
     ELSE {NodeState.UNAVAILABLE:d} END
"""

_NODES = (
    Column("id", "i8", "node.id"),
    Column("state", "i8", _NODE_STATE),
    Column("partition", "i8", "coalesce(node.partition_id, -1)"),
    Column("gpu_type", "i8", "node.gpu_type_id"),
    Column("rack", "i8", "coalesce(node.rack_id, -1)"),
    Column("switch", "i8", "coalesce(rack.switch_id, -1)"),
    Column("cpus", "i8", "node.cpus"),
    Column("free_cpus", "i8", "greatest(node.cpus - node.cpus_used - coalesce(kept.cpus, 0), 0)"),
    Column("mem_mib", "i8", "node.memory_mib"),
    Column(
        "free_mem_mib",
        "i8",
        "greatest(node.memory_mib - node.memory_used_mib - coalesce(kept.mem_mib, 0), 0)",
    ),
    Column("host_idle_w", "f8", "node.host_idle_w"),
    Column("host_peak_w", "f8", "node.host_peak_w"),
    Column("idle_since_s", "f8", "extract(epoch FROM node.idle_since_at)"),
    Column("gpus", "i8", "coalesce(gpus.total, 0)"),
    Column("healthy", "i8", "coalesce(gpus.healthy, 0)"),
    Column("held", "i8", "coalesce(gpus.held, 0) | coalesce(kept.gpus, 0)"),
    # What jobs may need of a node, a bit each; the same bits are in `needs` below.
    Column(
        "offers",
        "i8",
        "(node.container_tool <> '')::int + 2 * node.workloads::int + 4 * node.git::int",
    ),
    # Whether it is one tenant's at a time, and whose it is now.
    Column("alone", "i8", "(node.wall = 'none' OR cluster.exclusive)::int"),
    Column("holder", "i8", "coalesce(gpus.holder, kept.holder, -1)"),
)

NODES = Query(
    _NODES,
    f"""
WITH relocation AS ({_RELOCATIONS}), kept AS (
    -- Beyond what the job holds there already and gives back.
    SELECT relocation.node_id, bit_or(relocation.gpus) AS gpus,
           min(relocation.tenant_id) AS holder,
           sum(greatest(relocation.cpus - coalesce(own.cpus, 0), 0)) AS cpus,
           sum(greatest(relocation.mem_mib - coalesce(own.mem_mib, 0), 0)) AS mem_mib
    FROM relocation LEFT JOIN LATERAL (
        SELECT sum(cpus) AS cpus, sum(memory_mib) AS mem_mib FROM jobs_allocation held
        WHERE held.attempt_id = relocation.attempt_id AND held.node_id = relocation.node_id
          AND held.released_at IS NULL
    ) own ON true
    GROUP BY relocation.node_id
)
SELECT {selected(_NODES)}
FROM clusters_node node
JOIN clusters_cluster cluster ON cluster.id = node.cluster_id
LEFT JOIN kept ON kept.node_id = node.id
LEFT JOIN clusters_rack rack ON rack.id = node.rack_id
LEFT JOIN (
    SELECT gpu.node_id, count(*) AS total,
           bit_or(1::int8 << gpu.index) FILTER (WHERE gpu.healthy AND gpu.fault = '') AS healthy,
           bit_or(1::int8 << gpu.index) FILTER (WHERE allocation.id IS NOT NULL) AS held,
           min(allocation.tenant_id) AS holder
    FROM clusters_gpu gpu
    JOIN clusters_node home ON home.id = gpu.node_id AND home.cluster_id = {{cluster}}
    LEFT JOIN jobs_allocation allocation
           ON allocation.gpu_id = gpu.id AND allocation.released_at IS NULL
    GROUP BY gpu.node_id
) gpus ON gpus.node_id = node.id
WHERE node.cluster_id = {{cluster}}
ORDER BY node.id
""",
)

_ALLOWED_TYPES = """
CASE WHEN cardinality(job.gpu_types) = 0 THEN -1 ELSE coalesce((
    SELECT bit_or(1::int8 << kind.bit::int) FROM kinds kind
    WHERE kind.name = ANY(job.gpu_types)), 0) END
"""
# One that is asked to stop is no longer anybody's to plan with, whoever asked.
_RUNNING_STATE = f"CASE WHEN attempt.state = 'stopping' AND NOT {_IS_MOVING} THEN 2 ELSE 1 END"
_CLOCK = f"""
CASE WHEN {_IS_MOVING} THEN (attempt.relocation->>'clock_mhz')::int8
     ELSE coalesce(attempt.clock_mhz, 0) END
"""
# Of a gang only one node reports steps; a few of them are no speed yet. A job on its way has none
# where it goes.
_SPEED = f"""
coalesce((SELECT max(part.speed_steps / part.speed_s) FROM jobs_part part
          WHERE part.attempt_id = attempt.id AND part.speed_steps >= {SPEED_STEPS}
            AND part.speed_s > 0 AND NOT {_IS_MOVING}), 'nan')
"""

# A container for its image; an agent that knows what it brings along.
_NEEDS = """
(job.image IS NOT NULL)::int
+ 2 * (job.workdir_id IS NOT NULL OR job.git_url IS NOT NULL OR job.time_limit_s IS NOT NULL
       OR job.mounts <> '[]' OR job.artifacts <> '[]' OR job.secrets <> '[]')::int
+ 4 * (job.git_url IS NOT NULL)::int
"""

# First of the queue, second of those that hold GPUs.
_JOBS = (
    Column("id", "i8", "job.id"),
    Column("state", "i8", "0", _RUNNING_STATE),
    Column("tenant", "i8", "job.tenant_id"),
    Column("profile", "i8", "coalesce(job.profile_id, -1)"),
    Column("partition", "i8", "coalesce(job.partition_id, -1)"),
    Column("held", "i8", "job.held::int"),
    Column("unmet", "i8", "job.unmet_dependencies"),
    Column("priority", "i8", "job.priority"),
    Column("submitted_s", "f8", "extract(epoch FROM job.submitted_at)"),
    Column("deadline_s", "f8", "coalesce(extract(epoch FROM job.deadline_at)::float8, 'infinity')"),
    Column("tardiness_weight", "f8", "job.tardiness_price_per_h / 3600"),
    Column("min_gpus", "i8", "job.min_gpus"),
    Column("max_gpus", "i8", "job.max_gpus"),
    Column("gpu_types", "i8", _ALLOWED_TYPES),
    Column("cpus_per_gpu", "i8", "job.cpus_per_gpu"),
    Column("mem_mib_per_gpu", "i8", "coalesce(job.memory_mib_per_gpu, -1)"),
    Column("needs", "i8", _NEEDS),
    Column("span", "i8", "array_position(ARRAY['node', 'rack', 'switch', 'any'], job.span) - 1"),
    Column(
        "preemptible",
        "i8",
        "job.preemptible::int",
        f"(job.preemptible AND NOT {_IS_MOVING})::int",
    ),
    Column("work_total", "f8", "coalesce(job.work_total, 'nan')"),
    Column("work_done", "f8", "job.work_done"),
    Column("attained_gpu_s", "f8", "job.attained_gpu_s"),
    Column("est_total_s", "f8", "coalesce(job.estimated_run_s::float8, 'nan')"),
    Column("checkpoint_s", "f8", "coalesce(extract(epoch FROM job.checkpoint_at)::float8, 'nan')"),
    Column("restart_cost_s", "f8", "job.restart_cost_s"),
    Column(
        "started_s",
        "f8",
        "'nan'",
        "extract(epoch FROM coalesce(attempt.started_at, attempt.offered_at))",
    ),
    Column("clock_mhz", "i8", "0", _CLOCK),
    Column("gpus", "i8", "0", "attempt.gpus"),
    Column("steps_per_s", "f8", "'nan'", _SPEED),
)

JOBS = Query(
    _JOBS,
    f"""
WITH kinds AS (SELECT name, row_number() OVER (ORDER BY id) - 1 AS bit FROM clusters_gputype),
heads AS (
    SELECT job.* FROM tenancy_tenant tenant
    CROSS JOIN LATERAL (
        SELECT * FROM jobs_job
        WHERE cluster_id = {{cluster}} AND tenant_id = tenant.id AND state = 'queued'
          AND coalesce(retry_at <= to_timestamp({{now_s}}), true)
        ORDER BY priority DESC, id LIMIT {TENANT_WINDOW}
    ) job
    ORDER BY job.priority DESC, job.id LIMIT {QUEUE_WINDOW}
)
SELECT {selected(_JOBS)} FROM heads job
UNION ALL
SELECT {second_selected(_JOBS)}
FROM jobs_job job
JOIN jobs_attempt attempt ON attempt.job_id = job.id AND attempt.state NOT IN ('ended', 'lost')
WHERE job.cluster_id = {{cluster}} AND job.state IN ('placed', 'running', 'preempting')
ORDER BY id
""",
)

# First what jobs hold, second the new places of those on their way.
_PLACEMENTS = (
    Column("job", "i8", "attempt.job_id", "relocation.job_id"),
    Column("node", "i8", "gpu.node_id", "relocation.node_id"),
    Column("gpus", "i8", "bit_or(1::int8 << gpu.index)", "relocation.gpus"),
    Column("cpus", "i8", "sum(allocation.cpus)", "relocation.cpus"),
    Column("mem_mib", "i8", "sum(allocation.memory_mib)", "relocation.mem_mib"),
)

PLACEMENTS = Query(
    _PLACEMENTS,
    f"""
SELECT {selected(_PLACEMENTS)}
FROM jobs_attempt attempt
JOIN jobs_allocation allocation
  ON allocation.attempt_id = attempt.id AND allocation.released_at IS NULL
JOIN clusters_gpu gpu ON gpu.id = allocation.gpu_id
WHERE attempt.cluster_id = {{cluster}} AND attempt.state NOT IN ('ended', 'lost')
  AND NOT {_IS_MOVING}
GROUP BY attempt.job_id, gpu.node_id
UNION ALL
SELECT {second_selected(_PLACEMENTS)} FROM ({_RELOCATIONS}) relocation
ORDER BY job, node
""",
)

_TENANTS = (
    Column("id", "i8", "id"),
    Column("weight", "f8", "weight"),
    # A suspended tenant keeps what it has and gets nothing more.
    Column(
        "quota_gpus", "i8", "CASE WHEN suspended THEN gpus_in_use ELSE coalesce(gpu_quota, -1) END"
    ),
    Column("used_gpus", "i8", "gpus_in_use"),
    Column("max_price_per_h", "f8", "coalesce(max_tardiness_price_per_h, 'nan')"),
    Column("energy_left_j", "f8", "coalesce(energy_budget_wh * 3600.0::float8, 'infinity')"),
)

TENANTS = Query(_TENANTS, f"SELECT {selected(_TENANTS)} FROM tenancy_tenant ORDER BY id")

_QUOTAS = (
    Column("tenant", "i8", "tenant_id"),
    Column("gpu_type", "i8", "gpu_type_id"),
    Column("gpus", "i8", "gpus"),
    Column("used", "i8", "gpus_in_use"),
)

QUOTAS = Query(_QUOTAS, f"SELECT {selected(_QUOTAS)} FROM jobs_gpuquota ORDER BY jobs_gpuquota.id")
