"""Puts jobs where a plan wants them: attempts and allocations against fresh rows, or nothing.

The unique index one_holder_per_gpu has the last word: an entry that loses a GPU to it is withdrawn
whole.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime

from django.db import connection

from jobs.lifecycle import State, advance
from policies.contract.plan import Piece, Start
from scheduling.apply.capacity import lock_room
from scheduling.apply.predict import predict

_LOCK_JOBS = """
SELECT id, tenant_id FROM jobs_job
WHERE id = ANY(%s) AND cluster_id = %s AND state = 'queued'
  AND NOT held AND unmet_dependencies = 0
ORDER BY id FOR NO KEY UPDATE
"""

_OFFER = """
INSERT INTO jobs_attempt
    (tenant_id, job_id, cluster_id, round_id, number, fence, state, reason, gpus, clock_mhz,
     offered_at)
SELECT start.tenant_id, start.job_id, %(cluster)s, %(round)s,
       1 + (SELECT count(*) FROM jobs_attempt earlier WHERE earlier.job_id = start.job_id),
       nextval('jobs_fence'), 'offered', '', start.gpus, nullif(start.clock_mhz, 0), %(now)s
FROM unnest(%(tenants)s::int8[], %(jobs)s::int8[], %(gpus)s::int4[], %(clocks)s::int4[])
     AS start (tenant_id, job_id, gpus, clock_mhz)
RETURNING job_id, id
"""

_HOLD = """
INSERT INTO jobs_allocation (tenant_id, attempt_id, node_id, gpu_id, cpus, memory_mib, held_at)
SELECT hold.tenant_id, hold.attempt_id, hold.node_id, gpu.id, hold.cpus, hold.memory_mib, %(now)s
FROM unnest(%(tenants)s::int8[], %(attempts)s::int8[], %(nodes)s::int8[], %(indexes)s::int2[],
            %(cpus)s::int4[], %(memory)s::int8[])
     AS hold (tenant_id, attempt_id, node_id, index, cpus, memory_mib)
JOIN clusters_gpu gpu ON gpu.node_id = hold.node_id AND gpu.index = hold.index
                     AND gpu.healthy AND gpu.fault = ''
ORDER BY gpu.id
ON CONFLICT DO NOTHING
RETURNING attempt_id
"""

_WITHDRAW = """
WITH held AS (DELETE FROM jobs_allocation WHERE attempt_id = ANY(%(attempts)s))
DELETE FROM jobs_attempt WHERE id = ANY(%(attempts)s)
"""


def place(
    starts: Sequence[Start],
    *,
    cluster_id: int,
    round_id: int,
    now: datetime,
    reason: str = "placed",
) -> list[int]:
    """Place those of the queued jobs that still fit; return their ids."""
    wanted = [entry.job for entry in starts]
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_JOBS, [wanted, cluster_id])
        tenant_of: dict[int, int] = dict(cursor.fetchall())
    room = lock_room(
        nodes={piece.node for entry in starts for piece in entry.pieces},
        tenants=set(tenant_of.values()),
        cluster_id=cluster_id,
    )
    fitting = [
        entry
        for entry in starts
        if entry.job in tenant_of and room.take(tenant_of[entry.job], entry.pieces)
    ]
    attempt_of = _offer(fitting, tenant_of, cluster_id=cluster_id, round_id=round_id, now=now)
    whole = _hold(fitting, tenant_of, attempt_of, now)
    for entry in fitting:
        if entry.job not in whole:
            room.give_back(tenant_of[entry.job], entry.pieces)
    predict([attempt_of[job] for job in whole])
    room.save()
    return advance(
        whole, sources=[State.QUEUED], to=State.PLACED, reason=reason, now=now,
        detail={"round": round_id},
    )  # fmt: skip


def _offer(
    starts: Sequence[Start],
    tenant_of: dict[int, int],
    *,
    cluster_id: int,
    round_id: int,
    now: datetime,
) -> dict[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            _OFFER,
            {
                "cluster": cluster_id,
                "round": round_id,
                "now": now,
                "tenants": [tenant_of[entry.job] for entry in starts],
                "jobs": [entry.job for entry in starts],
                "gpus": [_gpus(entry) for entry in starts],
                "clocks": [entry.clock_mhz for entry in starts],
            },
        )
        return dict(cursor.fetchall())


def _hold(
    starts: Sequence[Start],
    tenant_of: dict[int, int],
    attempt_of: dict[int, int],
    now: datetime,
) -> set[int]:
    """Insert the allocations; return the jobs that got every GPU, withdraw the others."""
    holds = [
        (tenant_of[entry.job], attempt_of[entry.job], piece.node, index, cpus, memory_mib)
        for entry in starts
        for piece in entry.pieces
        for index, cpus, memory_mib in shares(piece)
    ]
    columns = list(zip(*holds, strict=True)) or [()] * 6
    names = ("tenants", "attempts", "nodes", "indexes", "cpus", "memory")
    with connection.cursor() as cursor:
        cursor.execute(
            _HOLD,
            {
                "now": now,
                **{name: list(column) for name, column in zip(names, columns, strict=True)},
            },
        )
        got = Counter(row[0] for row in cursor.fetchall())
        whole = {entry.job for entry in starts if got[attempt_of[entry.job]] == _gpus(entry)}
        torn = [attempt_of[entry.job] for entry in starts if entry.job not in whole]
        if torn:
            cursor.execute(_WITHDRAW, {"attempts": torn})
    return whole


def _gpus(entry: Start) -> int:
    return sum(piece.gpus.bit_count() for piece in entry.pieces)


def shares(piece: Piece) -> Iterator[tuple[int, int, int]]:
    """(GPU index, CPUs, MiB) per GPU of a piece; what does not divide goes to the first ones."""
    indexes = [index for index in range(64) if piece.gpus >> index & 1]
    for rank, index in enumerate(indexes):
        yield index, _part(piece.cpus, len(indexes), rank), _part(piece.mem_mib, len(indexes), rank)


def _part(total: int, parts: int, rank: int) -> int:
    return total // parts + (rank < total % parts)
