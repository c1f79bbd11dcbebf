"""Running jobs that should rather run later, and whom of them to stop for a place."""

from collections.abc import Sequence
from typing import NamedTuple

from policies.bench.ledger import Ledger, RowPiece


class _Held(NamedTuple):
    job: int
    gpus: int
    urgency: float


class _Way(NamedTuple):
    """Whom to stop to have enough GPUs on a node, and the work that is lost by it."""

    lost_gpu_s: float
    node: int
    jobs: list[int]


class LessUrgent:
    """Of one pool, by the nodes they are on.

    A search finds many schedules that cost nearly the same. Only for more urgent work is anybody
    stopped, or rounds would stop now these and then those.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._on_node: dict[int, list[_Held]] = {}
        self._lost_gpu_s: dict[int, float] = {}

    def add(self, job: int, held: Sequence[RowPiece], lost_s: float, urgency: float) -> None:
        """Jobs come by urgency; of those on a node the last is stopped first."""
        gpus = 0
        for node, mask, _, _ in held:
            self._on_node.setdefault(node, []).append(_Held(job, mask.bit_count(), urgency))
            gpus += mask.bit_count()
        self._lost_gpu_s[job] = lost_s * gpus

    def remove(self, jobs: Sequence[int]) -> None:
        gone = set(jobs)
        for job in jobs:
            del self._lost_gpu_s[job]
        for node, there in self._on_node.items():
            self._on_node[node] = [held for held in there if held.job not in gone]

    def cheapest(self, urgency: float, need: int, width: int, whole: int) -> list[int]:
        """Whom to stop for a place: on one node, or for whole ones beside the `whole` empty."""
        wanted = min(need, width)
        ways = [way for node in self._on_node if (way := self._way(node, wanted, urgency))]
        count = 1 if need <= width else max(-(-need // width) - whole, 0)
        found: dict[int, None] = {}
        for way in sorted(ways)[:count]:
            found |= dict.fromkeys(way.jobs)
        return list(found)

    def _way(self, node: int, wanted: int, urgency: float) -> _Way | None:
        free, jobs = self._ledger.free[node].bit_count(), []
        for held in reversed(self._on_node[node]):
            if free >= wanted:
                break
            if held.urgency < urgency:
                free += held.gpus
                jobs.append(held.job)
        if free < wanted or not jobs:
            return None
        return _Way(sum(self._lost_gpu_s[job] for job in jobs), node, jobs)
