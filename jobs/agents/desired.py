"""What should run on a node: its open allocations, spelled out for its agent."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db import connection, transaction

from agent.wire import Cancel, DesiredAttempt, Gang
from clusters.models import Node
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
class Wanted:
    attempts: tuple[DesiredAttempt, ...] = ()
    cancels: tuple[Cancel, ...] = ()


def wanted(node: Node, *, now: datetime) -> Wanted:
    """An attempt counts as fetched once it is in an answer, whether that arrives or not."""
    held: dict[int, list[Allocation]] = defaultdict(list)
    rows = (
        Allocation.objects.filter(node=node, released_at=None)
        .select_related("gpu", "attempt", "attempt__job")
        .order_by("attempt_id", "gpu__index")
    )
    for allocation in rows:
        held[allocation.attempt_id].append(allocation)
    attempts = {pk: allocations[0].attempt for pk, allocations in held.items()}
    running = [pk for pk, attempt in attempts.items() if attempt.state != "stopping"]
    fetched = set(
        Part.objects.filter(node=node, attempt__in=running).values_list("attempt_id", flat=True)
    )
    handed_out = set(_hand_out(node, [pk for pk in running if pk not in fetched], now)) | fetched
    gangs = _gangs(node, [attempts[pk] for pk in running])
    return Wanted(
        attempts=tuple(
            _desired(attempts[pk], held[pk], gangs.get(pk)) for pk in running if pk in handed_out
        ),
        cancels=tuple(
            Cancel(pk, attempt.fence, attempt.reason or "preempted")
            for pk, attempt in attempts.items()
            if attempt.state == "stopping"
        ),
    )


def _hand_out(node: Node, attempt_ids: list[int], now: datetime) -> list[int]:
    """Nothing new for a node that is not ready; a round or cancel may have taken it back, too."""
    if not attempt_ids or node.state not in (Node.State.READY, Node.State.DRAINING):
        return []
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM jobs_job WHERE id IN"
            " (SELECT job_id FROM jobs_attempt WHERE id = ANY(%s)) ORDER BY id FOR NO KEY UPDATE",
            [attempt_ids],
        )
        cursor.execute(_HAND_OUT, {"attempts": attempt_ids, "node": node.pk, "now": now})
    return list(
        Part.objects.filter(node=node, attempt__in=attempt_ids).values_list("attempt_id", flat=True)
    )


def _desired(attempt: Attempt, held: list[Allocation], gang: Gang | None) -> DesiredAttempt:
    job: Job = attempt.job
    return DesiredAttempt(
        attempt_id=attempt.pk,
        fence=attempt.fence,
        job_id=job.pk,
        argv=tuple(job.argv),
        gpu_uuids=tuple(allocation.gpu.uuid for allocation in held),
        cpus=sum(allocation.cpus for allocation in held),
        memory_mib=sum(allocation.memory_mib for allocation in held),
        checkpoint_key=f"job-{job.pk}",
        env={**job.env, **_array_env(job)},
        image=job.image,
        clock_mhz=attempt.clock_mhz,
        gang=gang,
        log_cap_bytes=settings.LOG_CAP_BYTES,
    )


def _array_env(job: Job) -> dict[str, str]:
    return {} if job.array_index is None else {"FAIRWATT_ARRAY_INDEX": str(job.array_index)}


def _gangs(node: Node, attempts: list[Attempt]) -> dict[int, Gang]:
    """Ranks run over the nodes by id; rank 0's node is where the others meet."""
    spread = [attempt.pk for attempt in attempts]
    shares: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    addresses: dict[int, str] = {}
    rows = Allocation.objects.filter(attempt__in=spread, released_at=None).order_by("node_id")
    for attempt_id, node_id, address in rows.values_list("attempt_id", "node_id", "node__address"):
        shares[attempt_id][node_id] += 1
        addresses[node_id] = address
    return {
        attempt_id: _gang(attempt_id, by_node, addresses, node.pk)
        for attempt_id, by_node in shares.items()
        if len(by_node) > 1
    }


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
