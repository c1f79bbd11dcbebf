"""What should run on a node: its open allocations, spelled out for its agent."""

from collections import Counter, OrderedDict, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import ceil
from threading import Lock

from django.conf import settings
from django.db import connection, transaction
from msgspec.structs import replace

from agent.wire import Cancel, DesiredAttempt, Gang, Processes
from clusters.models import Node
from engines.agents.brought_along import artifact_paths, mounts_of, time_left_s, workdir_of
from engines.agents.given_values import given_values, with_inputs
from engines.agents.leases import leases
from engines.agents.node_state import KnownNode
from jobs.models import Allocation, Attempt, Job, Part

# Below the ephemeral range of Linux; neighbours on a node differ by their attempts' ids.
GANG_PORT, GANG_PORTS = 20_000, 12_000

_HAND_OUT = """
WITH handed AS (
    UPDATE jobs_attempt attempt SET state = 'starting',
        run_lease_s = greatest(coalesce(job.run_lease_s, %(lease_s)s::int4), %(least_s)s::int4)
    FROM jobs_job job
    WHERE attempt.id = ANY(%(attempts)s) AND attempt.state = 'offered' AND job.id = attempt.job_id
    RETURNING attempt.id
)
INSERT INTO jobs_part (tenant_id, attempt_id, node_id, state, fetched_at, "end", detail,
                       log_bytes_dropped)
SELECT tenant_id, id, %(node)s, 'starting', %(now)s, '', '', 0
FROM jobs_attempt attempt
WHERE id = ANY(%(attempts)s) AND state IN ('offered', 'starting', 'running')
ON CONFLICT DO NOTHING
"""


# An attempt's id and a node's.
Held = tuple[int, int]
MOST_SPELLED = 65_536


class Spelled:
    """The attempts that were read last; what is in use comes up with every sync and stays."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: OrderedDict[Held, DesiredAttempt] = OrderedDict()
        self._lock = Lock()

    def get(self, held: Held) -> DesiredAttempt | None:
        with self._lock:
            known = self._known.get(held)
            if known is not None:
                self._known.move_to_end(held)
            return known

    def add(self, read: Mapping[Held, DesiredAttempt]) -> None:
        with self._lock:
            self._known.update(read)
            while len(self._known) > self._most:
                self._known.popitem(last=False)


SPELLED = Spelled(MOST_SPELLED)
_STARTING = (None, Part.State.STARTING)


@dataclass(frozen=True, slots=True)
class DesiredWork:
    attempts: tuple[DesiredAttempt, ...] = ()
    cancels: tuple[Cancel, ...] = ()


def wanted(node: KnownNode, *, now: datetime) -> DesiredWork:
    """An attempt counts as fetched once it is in an answer, whether that arrives or not."""
    running = [
        held
        for held in node.held.values()
        if held.state != Attempt.State.STOPPING
        and held.part_state != Part.State.ENDED
        and not held.unreported
    ]
    unfetched = [held.attempt_id for held in running if held.part_state is None]
    handed_out = _hand_out(node, unfetched, now) if unfetched else {}
    if missing := not_spelled_out(node):
        spell_out(missing)
    # Values are needed to start, and never again.
    starting = [held.attempt_id for held in running if held.part_state in _STARTING]
    values = given_values(starting) if starting else {}
    return DesiredWork(
        attempts=tuple(
            replace(
                spelled_out(held.attempt_id, node.node_id),
                cpus=held.cpus,
                memory_mib=held.memory_mib,
                clock_mhz=held.clock_mhz,
                run_lease_s=handed_out.get(held.attempt_id, held.run_lease_s),
                **values.get(held.attempt_id, {}),
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


def _hand_out(node: KnownNode, attempt_ids: list[int], now: datetime) -> dict[int, int | None]:
    """The attempts and their run leases.

    Nothing new for a node that is not ready; a round or cancel may have taken it back, too.
    """
    if node.state not in (Node.State.READY, Node.State.DRAINING):
        return {}
    attempt_ids = with_inputs(attempt_ids, now=now)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT id FROM jobs_job WHERE id IN"
            " (SELECT job_id FROM jobs_attempt WHERE id = ANY(%s)) ORDER BY id FOR NO KEY UPDATE",
            [attempt_ids],
        )
        cursor.execute(
            _HAND_OUT,
            {"attempts": attempt_ids, "node": node.node_id, "now": now, **_lease_values()},
        )
    parts = Part.objects.filter(node=node.node_id, attempt__in=attempt_ids)
    return dict(parts.values_list("attempt_id", "attempt__run_lease_s"))


def _lease_values() -> dict[str, int]:
    """Agreed upon once: a change of the settings, or of the number of nodes, moves no lease."""
    granted = leases(Node.objects.exclude(last_sync_at=None).count())
    return {"lease_s": ceil(granted.run_lease_s), "least_s": ceil(granted.least_run_lease_s)}


def spelled_out(attempt_id: int, node_id: int) -> DesiredAttempt:
    """All but clock, CPUs and memory is settled when the attempt is placed; every sync asks."""
    held = (attempt_id, node_id)
    known = SPELLED.get(held)
    return spell_out([held])[held] if known is None else known


def not_spelled_out(node: KnownNode) -> list[Held]:
    """What takes a read before the node can be answered."""
    held = [(attempt_id, node.node_id) for attempt_id in node.held]
    return [each for each in held if SPELLED.get(each) is None]


def spell_out(held: Collection[Held]) -> dict[Held, DesiredAttempt]:
    """Read once for many; gangs need the allocations of their other nodes, too."""
    rows: dict[int, list[Allocation]] = defaultdict(list)
    found = Allocation.objects.filter(attempt__in={attempt for attempt, _ in held})
    related = ("gpu", "node", "attempt__job__cluster", "attempt__job__workdir")
    for row in found.select_related(*related).order_by("node_id", "gpu__index"):
        rows[row.attempt_id].append(row)
    read = {each: _desired(rows[each[0]], each[1]) for each in held if each[0] in rows}
    SPELLED.add(read)
    return read


def _desired(rows: list[Allocation], node_id: int) -> DesiredAttempt:
    attempt, job = rows[0].attempt, rows[0].attempt.job
    held = [row for row in rows if row.node_id == node_id]
    return DesiredAttempt(
        attempt_id=attempt.pk,
        fence=attempt.fence,
        job_id=job.pk,
        argv=tuple(job.argv),
        gpu_uuids=tuple(row.gpu.uuid for row in held),
        cpus=0,
        memory_mib=0,
        checkpoint_key=f"job-{job.pk}",
        image=job.image,
        gang=_gang_of(attempt, rows, node_id),
        log_cap_bytes=settings.LOG_CAP_BYTES,
        tenant_id=attempt.tenant_id,
        processes=Processes(job.processes),
        workdir=workdir_of(job),
        mounts=mounts_of(job),
        artifacts=artifact_paths(job),
        time_limit_s=time_left_s(attempt),
        pids_limit=settings.PIDS_PER_GPU * len(held),
        scratch_mib=settings.SCRATCH_MIB_PER_GPU * len(held),
        network=job.cluster.network,
    )


def _gang_of(attempt: Attempt, rows: list[Allocation], node_id: int) -> Gang:
    """Ranks run over the nodes by id; rank 0's node is where the others meet."""
    gpus = Counter(row.node_id for row in rows)
    addresses = {row.node_id: row.node.address for row in rows}
    each_gpu = attempt.job.processes == Job.Processes.PER_GPU
    processes = {node: count if each_gpu else 1 for node, count in gpus.items()}
    if len(processes) == 1:
        # Processes of one node meet on it, whatever others call it.
        addresses[node_id] = ""
    return _gang(attempt.pk, processes, addresses, node_id)


def _gang(
    attempt_id: int, by_node: Mapping[int, int], addresses: dict[int, str], node_id: int
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
