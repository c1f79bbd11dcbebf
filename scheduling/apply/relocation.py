"""A running job goes on elsewhere, or on more or fewer GPUs, by checkpoint and restart.

Its attempt is asked to stop and remembers where the job goes next; until `PATIENCE` is over, rounds
see the job there and give that room to nobody else. Whoever ends the attempt starts the next one in
the same transaction, checked like any other start. What no longer fits, or took too long, is simply
queued.
"""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, connection, transaction

from jobs.attempts import attempts_end
from jobs.lifecycle import State, advance
from jobs.models import Attempt, Job
from policies.bench.bits import members
from policies.contract.plan import Move, Piece, Placing, Resize, Start
from scheduling.apply.allocate import place

logger = logging.getLogger(__name__)

MOVED, RESIZED = "moved", "resized"
# Longer than a grace and two syncs; an attempt that takes longer is not waited for.
PATIENCE = timedelta(seconds=120)

_LOCK_JOBS = """
SELECT id FROM jobs_job WHERE id = ANY(%s) AND cluster_id = %s AND state IN ('placed', 'running')
ORDER BY id FOR UPDATE
"""
# One that is stopping has its end before it already: a part of its gang failed.
_LOCK_ATTEMPTS = """
SELECT job_id, id, state FROM jobs_attempt
WHERE job_id = ANY(%s) AND state IN ('offered', 'starting', 'running') ORDER BY id FOR UPDATE
"""
_LOCK_NODES = """
SELECT 1 FROM clusters_node WHERE id = ANY(%(nodes)s) OR id IN (
    SELECT node_id FROM jobs_allocation
    WHERE attempt_id = ANY(%(attempts)s) AND released_at IS NULL)
ORDER BY id FOR NO KEY UPDATE
"""
# Per job the GPUs of its new place, counted, and the other jobs that hold some of them.
_HOLDERS = """
SELECT wanted.job_id, count(*),
       coalesce(array_agg(holder.job_id) FILTER (WHERE holder.job_id <> wanted.job_id), '{}')
FROM unnest(%(jobs)s::int8[], %(nodes)s::int8[], %(indexes)s::int2[])
     AS wanted (job_id, node_id, index)
JOIN clusters_node node ON node.id = wanted.node_id AND node.cluster_id = %(cluster)s
                       AND node.state = 'ready'
JOIN clusters_gpu gpu ON gpu.node_id = wanted.node_id AND gpu.index = wanted.index
                     AND gpu.healthy AND gpu.fault = ''
LEFT JOIN jobs_allocation held ON held.gpu_id = gpu.id AND held.released_at IS NULL
LEFT JOIN jobs_attempt holder ON holder.id = held.attempt_id
GROUP BY wanted.job_id
"""
_ASK = """
UPDATE jobs_attempt attempt
SET state = 'stopping', reason = asked.reason, relocation = asked.relocation,
    relocation_until_at = %(until)s
FROM unnest(%(attempts)s::int8[], %(reasons)s::text[], %(relocation)s::jsonb[])
     AS asked (id, reason, relocation)
WHERE attempt.id = asked.id
"""
_SET_CLOCKS = """
UPDATE jobs_attempt attempt
SET relocation = jsonb_set(relocation, '{clock_mhz}', to_jsonb(wanted.clock_mhz))
FROM unnest(%s::int8[], %s::int4[]) AS wanted (job_id, clock_mhz)
WHERE attempt.job_id = wanted.job_id AND attempt.state = 'stopping' AND relocation_until_at > %s
RETURNING attempt.job_id
"""

Change = Move | Resize


def relocate(
    changes: Sequence[Change], *, cluster_id: int, round_id: int, now: datetime
) -> list[int]:
    """Send the jobs on their way; return those that go. What no agent has fetched is there."""
    entries = {entry.job: entry for entry in changes}
    attempts = _lock(entries, cluster_id)
    at_once = {job: pk for job, (pk, state) in attempts.items() if state == Attempt.State.OFFERED}
    _lock_nodes(_nodes(entries.values()), at_once.values())
    able = _able(_holders([entries[job] for job in attempts], cluster_id))
    for reason in (MOVED, RESIZED):
        going = [job for job in able if reason_of(entries[job]) == reason]
        advance(
            going, sources=[State.PLACED, State.RUNNING], to=State.PREEMPTING, reason=reason,
            now=now, detail={"round": round_id},
        )  # fmt: skip
        _relocate_offered(
            {job: at_once[job] for job in going if job in at_once},
            entries, cluster_id=cluster_id, round_id=round_id, reason=reason, now=now,
        )  # fmt: skip
    _ask({attempts[job][0]: entries[job] for job in able if job not in at_once}, round_id, now)
    return able


def start_relocated(attempt: Attempt, job: Job, *, now: datetime) -> bool:
    """The attempt has ended and its job is queued: start the next one where it should go on."""
    relocation = _in_force(attempt, now)
    if relocation is None:
        return False
    start = Start(job.pk, _pieces(relocation), relocation["clock_mhz"])
    terms = {"cluster_id": job.cluster_id, "round_id": relocation["round"]}
    try:
        with transaction.atomic():
            return bool(place([start], **terms, now=now, reason=relocation["reason"]))
    except IntegrityError as error:
        # The end of the attempt stands whatever becomes of the next one.
        logger.warning("job %s cannot go on and is queued: %s", job.pk, error)
        return False


def lock_relocation(attempt: Attempt, *, now: datetime) -> None:
    """Nodes are locked by ascending id: those it leaves together with those its job goes to."""
    relocation = _in_force(attempt, now)
    if relocation is not None:
        _lock_nodes({piece["node"] for piece in relocation["pieces"]}, [attempt.pk])


def set_clocks(clocks: Mapping[int, int], *, now: datetime) -> list[int]:
    """A job on its way starts with the new clock; the ids of those that are."""
    with connection.cursor() as cursor:
        cursor.execute(_SET_CLOCKS, [list(clocks), list(clocks.values()), now])
        return [row[0] for row in cursor.fetchall()]


def reason_of(entry: Change) -> str:
    return MOVED if isinstance(entry, Move) else RESIZED


def _in_force(attempt: Attempt, now: datetime) -> Mapping[str, Any] | None:
    until_at = attempt.relocation_until_at
    return attempt.relocation if until_at is not None and now < until_at else None


def _lock(entries: Mapping[int, Change], cluster_id: int) -> dict[int, tuple[int, str]]:
    """Job to attempt and its state, of those that may be asked to stop."""
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_JOBS, [list(entries), cluster_id])
        jobs = [row[0] for row in cursor.fetchall()]
        cursor.execute(_LOCK_ATTEMPTS, [jobs])
        return {job: (attempt, state) for job, attempt, state in cursor.fetchall()}


def _lock_nodes(nodes: Iterable[int], attempts: Iterable[int]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_NODES, {"nodes": list(nodes), "attempts": list(attempts)})


def _able(holders: Mapping[int, frozenset[int]]) -> list[int]:
    """Those whose place is free, and circles of jobs that hold each other's: these go as a whole.

    Behind somebody who goes to a free place it is better to run on until that is done.
    """
    circles = {job: others for job, others in holders.items() if others}
    while stuck := [job for job, others in circles.items() if not others <= circles.keys()]:
        for job in stuck:
            del circles[job]
    return [job for job, others in holders.items() if not others or job in circles]


def _holders(entries: Sequence[Change], cluster_id: int) -> dict[int, frozenset[int]]:
    """Of the jobs whose new place is there at all, who else holds some of it."""
    wanted = [
        (entry.job, piece.node, index)
        for entry in entries
        for piece in entry.pieces
        for index in members(piece.gpus)
    ]
    columns = [list(column) for column in zip(*wanted, strict=True)] or [[], [], []]
    values = dict(zip(("jobs", "nodes", "indexes"), columns, strict=True))
    with connection.cursor() as cursor:
        cursor.execute(_HOLDERS, {**values, "cluster": cluster_id})
        found = {job: (count, others) for job, count, others in cursor.fetchall()}
    return {
        entry.job: frozenset(found[entry.job][1])
        for entry in entries
        if entry.job in found and found[entry.job][0] == _gpus(entry)
    }


def _relocate_offered(
    attempts: Mapping[int, int],
    entries: Mapping[int, Change],
    *,
    cluster_id: int,
    round_id: int,
    reason: str,
    now: datetime,
) -> None:
    if not attempts:
        return
    attempts_end(attempts.values(), state=Attempt.State.ENDED, reason=reason, now=now)
    advance(attempts, sources=[State.PREEMPTING], to=State.QUEUED, reason=reason, now=now)
    starts = [Start(job, entries[job].pieces, entries[job].clock_mhz) for job in sorted(attempts)]
    place(starts, cluster_id=cluster_id, round_id=round_id, now=now, reason=reason)


def _ask(asked: Mapping[int, Change], round_id: int, now: datetime) -> None:
    values: dict[str, Any] = {
        "attempts": list(asked),
        "reasons": [reason_of(entry) for entry in asked.values()],
        "relocation": [json.dumps(_relocation(entry, round_id)) for entry in asked.values()],
        "until": now + PATIENCE,
    }
    with connection.cursor() as cursor:
        cursor.execute(_ASK, values)


def _relocation(entry: Change, round_id: int) -> dict[str, Any]:
    """What snapshot/queries.py reads: GPUs by index, as a mask may exceed a JSON number."""
    return {
        "reason": reason_of(entry),
        "round": round_id,
        "clock_mhz": entry.clock_mhz,
        "pieces": [
            {
                "node": piece.node,
                "gpus": list(members(piece.gpus)),
                "cpus": piece.cpus,
                "mem_mib": piece.mem_mib,
            }
            for piece in entry.pieces
        ],
    }


def _pieces(relocation: Mapping[str, Any]) -> tuple[Piece, ...]:
    return tuple(
        Piece(
            piece["node"],
            sum(1 << index for index in piece["gpus"]),
            piece["cpus"],
            piece["mem_mib"],
        )
        for piece in relocation["pieces"]
    )


def _nodes(entries: Iterable[Placing]) -> set[int]:
    return {piece.node for entry in entries for piece in entry.pieces}


def _gpus(entry: Placing) -> int:
    return sum(piece.gpus.bit_count() for piece in entry.pieces)
