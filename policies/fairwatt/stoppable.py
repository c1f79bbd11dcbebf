"""Running jobs that should rather run later, and whom of them to stop for a place."""

from collections.abc import Sequence
from typing import NamedTuple

from policies.ledger import Ledger, RowPiece


class _Held(NamedTuple):
    job: int
    gpus: int


class _Way(NamedTuple):
    """Whom to stop to have enough GPUs on a node, and the work that is lost by it."""

    lost_gpu_s: float
    node: int
    jobs: list[int]


class Stoppable:
    """Of one pool, by the nodes they are on."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._on_node: dict[int, list[_Held]] = {}
        self._lost_gpu_s: dict[int, float] = {}
        self._hopeless = 1 << 62
        """So many GPUs on one node, and more, are not to be had."""

    def add(self, job: int, held: Sequence[RowPiece], lost_s: float) -> None:
        """Jobs come by urgency; of those on a node the last is stopped first."""
        gpus = 0
        for node, mask, _, _ in held:
            self._on_node.setdefault(node, []).append(_Held(job, mask.bit_count()))
            gpus += mask.bit_count()
        self._lost_gpu_s[job] = lost_s * gpus

    def remove(self, jobs: Sequence[int]) -> None:
        gone = set(jobs)
        for job in jobs:
            del self._lost_gpu_s[job]
        for node, there in self._on_node.items():
            self._on_node[node] = [held for held in there if held.job not in gone]

    def cheapest(self, need: int, width: int, whole: int) -> list[int]:
        """Whom to stop for a place: on one node, or for whole ones beside the `whole` empty."""
        wanted = min(need, width)
        if wanted >= self._hopeless:
            return []
        ways = [way for node in self._on_node if (way := self._way(node, wanted))]
        if not ways:
            self._hopeless = wanted
        count = 1 if need <= width else -(-need // width) - whole
        found: dict[int, None] = {}
        for way in sorted(ways)[:count]:
            found |= dict.fromkeys(way.jobs)
        return list(found)

    def _way(self, node: int, wanted: int) -> _Way | None:
        free, jobs = self._ledger.free[node].bit_count(), []
        for held in reversed(self._on_node[node]):
            if free >= wanted:
                break
            free += held.gpus
            jobs.append(held.job)
        if free < wanted or not jobs:
            return None
        return _Way(sum(self._lost_gpu_s[job] for job in jobs), node, jobs)
