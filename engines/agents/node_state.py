"""What the record says about a node, in one statement: a sync without news needs no other."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agent.wire import Sync
from jobs.prepared_statements import fetch

# Both by themselves: they hold no lock while reports lock jobs. A late sync touches nothing.
_TOUCH = """
UPDATE clusters_node SET last_sync_at = %(now)s, sync_sequence = %(sequence)s::int8,
    boot_id = %(boot)s, power_said = %(power)s,
    power_told = CASE WHEN state = 'off' THEN 'off' ELSE 'on' END
WHERE token_id = %(token)s::int8 AND epoch = %(epoch)s::int8
  AND sync_sequence < %(sequence)s::int8
RETURNING id, state, cluster_id
"""
_FIND = """
SELECT id, state, cluster_id FROM clusters_node
WHERE token_id = %(token)s::int8 AND epoch = %(epoch)s::int8
"""

# Of a `node`: what each attempt with open allocations there has, in the order of OpenAttempt.
HELD = """
       (SELECT json_agg(json_build_array(attempt.id, attempt.fence, attempt.state,
                   attempt.reason, coalesce(attempt.steered_clock_mhz, attempt.clock_mhz),
                   coalesce(attempt.steered_cpus, held.cpus), held.memory_mib, part.state,
                   part.progress_step, part.checkpoint_step, part.unreported_at IS NOT NULL,
                   attempt.run_lease_s, part.fetching IS NOT NULL)
                   ORDER BY attempt.id)
        FROM (SELECT attempt_id, sum(cpus) AS cpus, sum(memory_mib) AS memory_mib
              FROM jobs_allocation WHERE node_id = node.id AND released_at IS NULL
              GROUP BY attempt_id) held
        JOIN jobs_attempt attempt
          ON attempt.id = held.attempt_id AND attempt.state NOT IN ('ended', 'lost')
        LEFT JOIN jobs_part part ON part.attempt_id = attempt.id AND part.node_id = node.id)
"""
_LOOK = """
WITH node AS ({node})
SELECT node.id, node.state, node.cluster_id,
       (SELECT json_object_agg(gpu.uuid, gpu.fault) FROM clusters_gpu gpu
        WHERE gpu.node_id = node.id),
       {held},
       -- A crash may forget that a node spoke half a second ago: no sync waits for the disk.
       set_config('synchronous_commit', 'off', true)
FROM node
"""
_TOUCH_AND_READ = _LOOK.format(node=_TOUCH, held=HELD)
_ONLY_READ = _LOOK.format(node=_FIND, held=HELD)


@dataclass(frozen=True, slots=True)
class OpenAttempt:
    """An attempt with open allocations on the node; without a part the node knows nothing of it."""

    attempt_id: int
    fence: int
    state: str
    reason: str
    clock_mhz: int | None
    cpus: int
    memory_mib: int
    part_state: str | None
    progress_step: int | None
    checkpoint_step: int | None
    unreported: bool
    run_lease_s: int | None = None
    fetching: bool = False


@dataclass(frozen=True, slots=True)
class KnownNode:
    node_id: int
    state: str
    cluster_id: int
    faults: dict[str, str]
    held: dict[int, OpenAttempt]


def touch(token_id: int, sync: Sync, *, now: datetime) -> KnownNode | None:
    """None for a sync that is late, or of an agent that is no longer this node's."""
    values = {"sequence": sync.sequence + 1, "boot": sync.boot_id, "now": now}
    values["power"] = sync.power
    return _read(_TOUCH_AND_READ, {"token": token_id, "epoch": sync.epoch, **values})


def read_state(token_id: int, epoch: int) -> KnownNode | None:
    return _read(_ONLY_READ, {"token": token_id, "epoch": epoch})


def _read(statement: str, values: dict[str, Any]) -> KnownNode | None:
    rows = fetch(statement, values)
    if not rows:
        return None
    node_id, state, cluster_id, faults, held, _ = rows[0]
    return known_node(node_id, state, cluster_id, faults, held)


def known_node(
    node_id: int, state: str, cluster_id: int, faults: Any, held: list[list[Any]] | None
) -> KnownNode:
    """From a row; nothing is null where a node has no GPU or holds nothing."""
    attempts = {each[0]: OpenAttempt(*each) for each in held or ()}
    return KnownNode(node_id, state, cluster_id, faults or {}, attempts)
