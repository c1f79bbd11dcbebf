"""The node on which room for a job costs the least work: best first, by a lower bound."""

import heapq
from operator import sub
from typing import NamedTuple

import numpy as np

from policies.bench.ledger import Ask, Ledger
from policies.bench.victims.cover import Missing, Stops, Victim, cheapest_cover, total_cost
from policies.bench.victims.releasing import Releasing
from policies.bench.victims.table import Preemptor, Victims

# Nodes whose GPUs are cheap but whose CPUs or memory may not do: so many are looked at per claim.
_MOST_NODES = 64


class _NodeQueue(NamedTuple):
    """Nodes that may serve an ask, as a heap of (least cost of the missing GPUs, node)."""

    heap: list[tuple[float, int]]
    nodes: frozenset[int]


class NodeSearch:
    """Preemptors come in rank order, so who may be stopped only gets fewer, and costs only rise.

    Costs fall only where a victim frees more than its preemptor needs: `changed` says where.
    """

    def __init__(self, ledger: Ledger, victims: Victims, releasing: Releasing) -> None:
        self.ledger = ledger
        self.victims = victims
        self.releasing = releasing
        self._queues: dict[tuple[int, tuple[int, ...], int], _NodeQueue] = {}
        self._covers: dict[int, dict[Missing, list[Victim] | None]] = {}

    def changed(self, nodes: list[int]) -> None:
        for node in nodes:
            self._covers.pop(node, None)
            for queue in self._queues.values():
                if node in queue.nodes:
                    heapq.heappush(queue.heap, (0.0, node))

    def cheapest(
        self, preemptor: Preemptor, ask: Ask, types: tuple[int, ...], allowance: int
    ) -> Stops | None:
        heap = self._queue(preemptor, ask, types).heap
        best: Stops | None = None
        best_cost = float("inf")
        looked_at: list[tuple[float, int]] = []
        while heap and heap[0][0] < best_cost and len(looked_at) < _MOST_NODES:
            bound, node = heapq.heappop(heap)
            missing = self._missing(node, ask)
            gpus_only = self._cover(node, preemptor, Missing(missing.gpus, 0, 0))
            if gpus_only is None:
                continue
            if (cost := total_cost(gpus_only)) > bound:
                heapq.heappush(heap, (cost, node))
                continue
            looked_at.append((bound, node))
            if self.ledger.keeps_blocks:
                victims = self._cheapest_block(node, ask, self._ours(node, preemptor))
            else:
                victims = self._cover(node, preemptor, missing)
            if victims is None or len(victims) > allowance:
                continue
            if (cost := total_cost(victims)) < best_cost:
                best, best_cost = Stops(victims, [node]), cost
        for entry in looked_at:
            heapq.heappush(heap, entry)
        return best

    def _queue(self, preemptor: Preemptor, ask: Ask, types: tuple[int, ...]) -> _NodeQueue:
        """Starts with missing GPUs times the least cost per GPU, on nodes that could ever do."""
        key = (preemptor.partition, types, ask.gpus)
        found = self._queues.get(key)
        if found is None:
            nodes = [node for t in types for node in self.ledger.nodes_of(ask.own[t])]
            outlook = self.victims.outlook(preemptor, self.releasing.soon())
            rows = np.array(nodes, np.int64)
            rows = rows[outlook.soon[rows] + outlook.stoppable[rows] >= ask.gpus]
            missing = np.maximum(ask.gpus - outlook.soon[rows], 0)
            bound = np.where(missing > 0, missing * outlook.per_gpu[rows], 0.0)
            heap = list(zip(bound.tolist(), rows.tolist(), strict=True))
            heapq.heapify(heap)
            found = self._queues[key] = _NodeQueue(heap, frozenset(nodes))
        return found

    def _cover(self, node: int, preemptor: Preemptor, missing: Missing) -> list[Victim] | None:
        """The cheapest cover on a node, remembered while its victims may still be stopped."""
        wanted = Missing(*(max(0, amount) for amount in missing))
        known = self._covers.setdefault(node, {})
        if wanted in known:
            victims = known[wanted]
            if victims is None or all(self._open(victim, preemptor) for victim in victims):
                return victims
        known[wanted] = cheapest_cover(self._ours(node, preemptor), wanted)
        return known[wanted]

    def _ours(self, node: int, preemptor: Preemptor) -> list[Victim]:
        return [v for v in self.victims.on_node(node) if self._open(v, preemptor)]

    def _open(self, victim: Victim, preemptor: Preemptor) -> bool:
        victims, row = self.victims, victim.row
        outranked = victims.threshold[row] > preemptor.key
        guest = victims.partition[row] != preemptor.partition
        return bool(victims.stoppable[row] and (outranked or guest))

    def _missing(self, node: int, ask: Ask) -> Missing:
        ledger, coming, gpus = self.ledger, self.releasing, ask.gpus
        return Missing(
            gpus - coming.mask(node).bit_count(),
            ask.cpus * gpus - ledger.cpus[node] - coming.cpus[node],
            ask.mem_mib * gpus - ledger.mem_mib[node] - coming.mem_mib[node],
        )

    def _cheapest_block(self, node: int, ask: Ask, ours: list[Victim]) -> list[Victim] | None:
        """Of all aligned blocks, the one whose occupants are cheapest to stop."""
        width, soon = self.ledger.gpus[node], self.releasing.mask(node)
        size = 1 << (ask.gpus - 1).bit_length()
        options: list[tuple[float, int, list[Victim]]] = []
        missing = self._missing(node, ask)
        for first in range(0, width - ask.gpus + 1, size):
            block = ((1 << size) - 1) << first & ((1 << width) - 1)
            inside = [victim for victim in ours if victim.mask & block]
            if block & ~soon & ~sum(victim.mask for victim in inside):
                continue
            others = [victim for victim in ours if not victim.mask & block]
            left = missing
            for victim in inside:
                left = Missing(*map(sub, left, (victim.gpus, victim.cpus, victim.mem_mib)))
            rest = cheapest_cover(others, left)
            if rest is not None:
                options.append((total_cost(inside + rest), first, inside + rest))
        return min(options)[2] if options else None
