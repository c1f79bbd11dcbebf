"""Gives running jobs other CPUs and memory on the GPUs they hold; their agents follow in place."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from django.db import connection, transaction

from policies.contract.plan import Retune
from scheduling.apply.allocate import shares

CHUNK = 500

_LOCK_JOBS = """
SELECT id FROM jobs_job
WHERE id = ANY(%s) AND cluster_id = %s AND state IN ('placed', 'running')
ORDER BY id FOR NO KEY UPDATE
"""
_LOCK_NODES = """
SELECT id, cpus - cpus_used, memory_mib - memory_used_mib FROM clusters_node
WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE
"""
_HELD = """
SELECT attempt.job_id, allocation.node_id, gpu.index, allocation.id, allocation.cpus,
       allocation.memory_mib
FROM jobs_attempt attempt
JOIN jobs_allocation allocation
  ON allocation.attempt_id = attempt.id AND allocation.released_at IS NULL
JOIN clusters_gpu gpu ON gpu.id = allocation.gpu_id
WHERE attempt.job_id = ANY(%s) AND attempt.state IN ('offered', 'starting', 'running')
"""
_SHARE = """
UPDATE jobs_allocation allocation SET cpus = given.cpus, memory_mib = given.memory_mib
FROM unnest(%s::int8[], %s::int4[], %s::int8[]) AS given (id, cpus, memory_mib)
WHERE allocation.id = given.id
"""
_COUNT = """
UPDATE clusters_node node SET cpus_used = cpus_used + more.cpus,
       memory_used_mib = memory_used_mib + more.memory_mib
FROM unnest(%s::int8[], %s::int8[], %s::int8[]) AS more (id, cpus, memory_mib)
WHERE node.id = more.id
"""

Gpu = tuple[int, int]
"""Node id and GPU index."""


@dataclass(frozen=True, slots=True)
class HeldShare:
    allocation: int
    cpus: int
    memory_mib: int


@dataclass
class Books:
    """What is left on the locked nodes, and what has been given so far."""

    cpus: dict[int, int]
    memory_mib: dict[int, int]
    given: list[tuple[int, int, int]] = field(default_factory=list)
    more: dict[int, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0]))

    def change(self, entries: Sequence[Retune], held: dict[int, dict[Gpu, HeldShare]]) -> bool:
        """All of them or none: False where one is not as the plan saw it, or has no room."""
        given: list[tuple[int, int, int]] = []
        more: dict[int, list[int]] = defaultdict(lambda: [0, 0])
        for entry in entries:
            asked = {
                (piece.node, index): (cpus, memory_mib)
                for piece in entry.pieces
                for index, cpus, memory_mib in shares(piece)
            }
            had = held[entry.job]
            if asked.keys() != had.keys():
                return False
            for gpu, (cpus, memory_mib) in asked.items():
                more[gpu[0]][0] += cpus - had[gpu].cpus
                more[gpu[0]][1] += memory_mib - had[gpu].memory_mib
                given.append((had[gpu].allocation, cpus, memory_mib))
        if any(c > self.cpus[n] or m > self.memory_mib[n] for n, (c, m) in more.items()):
            return False
        for node, (cpus, memory_mib) in more.items():
            self.cpus[node] -= cpus
            self.memory_mib[node] -= memory_mib
            self.more[node][0] += cpus
            self.more[node][1] += memory_mib
        self.given += given
        return True

    def save(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(_SHARE, _columns(self.given))
            counts = [(node, *counts) for node, counts in sorted(self.more.items())]
            cursor.execute(_COUNT, _columns(counts))


def retune(entries: Sequence[Retune], *, cluster_id: int) -> list[int]:
    """The jobs that have their new share; locks are taken as everywhere, jobs before nodes."""
    done: list[int] = []
    while entries:
        # Those that wait for what others give up come again while anybody gives something up.
        left: list[Retune] = []
        for first in range(0, len(entries), CHUNK):
            chunk = entries[first : first + CHUNK]
            changed = _retune(chunk, cluster_id)
            done += changed
            left += [entry for entry in chunk if entry.job not in set(changed)]
        if len(left) == len(entries):
            break
        entries = left
    return done


@transaction.atomic
def _retune(entries: Sequence[Retune], cluster_id: int) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_JOBS, [[entry.job for entry in entries], cluster_id])
        running = [row[0] for row in cursor.fetchall()]
        nodes = sorted({piece.node for entry in entries for piece in entry.pieces})
        cursor.execute(_LOCK_NODES, [nodes])
        free = cursor.fetchall()
        cursor.execute(_HELD, [running])
        held: dict[int, dict[Gpu, HeldShare]] = defaultdict(dict)
        for job, node, index, *share in cursor.fetchall():
            held[job][node, index] = HeldShare(*share)
    books = Books({node: cpus for node, cpus, _ in free}, {node: mem for node, _, mem in free})
    changed = [entry.job for entry in _changed(books, entries, held)]
    books.save()
    return changed


def _changed(
    books: Books, entries: Sequence[Retune], held: dict[int, dict[Gpu, HeldShare]]
) -> Sequence[Retune]:
    """At once if they can be, since one may need what another gives up; else one by one."""
    if books.change(entries, held):
        return entries
    return [entry for entry in _givers_first(entries, held) if books.change([entry], held)]


def _givers_first(entries: Iterable[Retune], held: dict[int, dict[Gpu, HeldShare]]) -> list[Retune]:
    def growth(entry: Retune) -> int:
        had = sum(share.cpus for share in held[entry.job].values())
        return sum(piece.cpus for piece in entry.pieces) - had

    return sorted(entries, key=growth)


def _columns(rows: Sequence[tuple[int, ...]]) -> list[list[int]]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[], [], []]
