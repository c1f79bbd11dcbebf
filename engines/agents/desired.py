"""What should run on a node: its open allocations, spelled out for its agent."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from django.conf import settings
from django.db import connection, transaction
from msgspec.structs import replace

from agent.wire import Cancel, DesiredAttempt, Gang
from clusters.models import Node
from engines.agents.node_state import KnownNode
from jobs.models import Allocation, Attempt, Job, Part

# Below the ephemeral range of Linux; neighbours on a node differ by their attempts' ids.
GANG_PORT, GANG_PORTS = 20_000, 12_000

_HAND_OUT = """
WITH handed AS (
    UPDATE jobs_attempt SET state = 'starting'
    WHERE id = ANY(%(attempts)s) AND state = 'offered' RETURNING id
)
INSERT INTO jobs_part (tenant_id, attempt_id, node_id, state, fetched_at, "end", detail,
                       log_bytes_dropped)
SELECT tenant_id, id, %(node)s, 'starting', %(now)s, '', '', 0
FROM jobs_attempt attempt
WHERE id = ANY(%(attempts)s) AND state IN ('offered', 'starting', 'running')
ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, slots=True)
class DesiredWork:
    attempts: tuple[DesiredAttempt, ...] = ()
    cancels: tuple[Cancel, ...] = ()


def wanted(node: KnownNode, *, now: datetime) -> DesiredWork:
    """An attempt counts as fetched once it is in an answer, whether that arrives or not."""
    running = [
        held
        for held in node.held.values()
        if held.state != Attempt.State.STOPPING and not held.unreported
    ]
    unfetched = [held.attempt_id for held in running if held.part_state is None]
    handed_out = _hand_out(node, unfetched, now) if unfetched else frozenset()
    return DesiredWork(
        attempts=tuple(
            replace(
                spelled_out(held.attempt_id, node.node_id),
                cpus=held.cpus,
                memory_mib=held.memory_mib,
                clock_mhz=held.clock_mhz,
            )
            for held in running
            if held.part_state is not None or held.attempt_id in handed_out
        ),
        cancels=tuple(
            Cancel(held.attempt_id, held.fence, held.reason or "preempted")
            for held in node.held.values()
            if held.state == Attempt.State.STOPPING
        ),
    )


def _hand_out(node: KnownNode, attempt_ids: list[int], now: datetime) -> frozenset[int]:
    """Nothing new for a node that is not ready; a round or cancel may have taken it back, too."""
    if node.state not in (Node.State.READY, Node.State.DRAINING):
        return frozenset()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM jobs_job WHERE id IN"
            " (SELECT job_id FROM jobs_attempt WHERE id = ANY(%s)) ORDER BY id FOR NO KEY UPDATE",
            [attempt_ids],
        )
        cursor.execute(_HAND_OUT, {"attempts": attempt_ids, "node": node.node_id, "now": now})
    parts = Part.objects.filter(node=node.node_id, attempt__in=attempt_ids)
    return frozenset(parts.values_list("attempt_id", flat=True))


@lru_cache(maxsize=4096)
def spelled_out(attempt_id: int, node_id: int) -> DesiredAttempt:
    """All but clock, CPUs and memory is settled when the attempt is placed; every sync asks."""
    held = list(
        Allocation.objects.filter(attempt=attempt_id, node=node_id)
        .select_related("gpu", "attempt", "attempt__job")
        .order_by("gpu__index")
    )
    return _desired(held[0].attempt, held, _gang_of(attempt_id, node_id))


def _desired(attempt: Attempt, held: list[Allocation], gang: Gang | None) -> DesiredAttempt:
    job: Job = attempt.job
    return DesiredAttempt(
        attempt_id=attempt.pk,
        fence=attempt.fence,
        job_id=job.pk,
        argv=tuple(job.argv),
        gpu_uuids=tuple(allocation.gpu.uuid for allocation in held),
        cpus=0,
        memory_mib=0,
        checkpoint_key=f"job-{job.pk}",
        env={**job.env, **_array_env(job)},
        image=job.image,
        gang=gang,
        log_cap_bytes=settings.LOG_CAP_BYTES,
    )


def _array_env(job: Job) -> dict[str, str]:
    return {} if job.array_index is None else {"FAIRWATT_ARRAY_INDEX": str(job.array_index)}


def _gang_of(attempt_id: int, node_id: int) -> Gang | None:
    """Ranks run over the nodes by id; rank 0's node is where the others meet."""
    by_node: dict[int, int] = defaultdict(int)
    addresses: dict[int, str] = {}
    rows = Allocation.objects.filter(attempt=attempt_id).order_by("node_id")
    for holder, address in rows.values_list("node_id", "node__address"):
        by_node[holder] += 1
        addresses[holder] = address
    return _gang(attempt_id, by_node, addresses, node_id) if len(by_node) > 1 else None


def _gang(
    attempt_id: int, by_node: dict[int, int], addresses: dict[int, str], node_id: int
) -> Gang:
    nodes = list(by_node)
    rank = nodes.index(node_id)
    return Gang(
        first_rank=sum(by_node[earlier] for earlier in nodes[:rank]),
        world_size=sum(by_node.values()),
        local_world_size=by_node[node_id],
        node_rank=rank,
        nodes=len(nodes),
        master_address=addresses[nodes[0]] or "127.0.0.1",
        master_port=GANG_PORT + attempt_id % GANG_PORTS,
    )
