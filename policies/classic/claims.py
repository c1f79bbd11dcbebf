"""Room for a job that does not fit: set aside what is being given up, and stop the cheapest work.

A claim takes nothing that runs: the victims' GPUs are free only once they have stopped. Until then
the claimant waits, and what it set aside of the free GPUs is out of reach for jobs ranked after it.
"""

import heapq
import math
from typing import NamedTuple

import numpy as np

from policies.classic.cover import Missing, Victim, cheapest_cover, total_cost
from policies.classic.releasing import Releasing
from policies.classic.victims import Victims
from policies.columns import F64, I64, Bool
from policies.ledger import Ask, Ledger
from policies.snapshot import Span

# A gang over nodes looks at this many of the victims with the least cost per GPU.
_MOST_GANG_VICTIMS = 64
# And at this many racks or switches, those that promise to be cheapest.
_MOST_GROUPS = 8


class Claimant(NamedTuple):
    row: int
    key: float
    tenant: int
    partition: int


class Found(NamedTuple):
    victims: list[Victim]
    nodes: list[int]


class _NodeQueue(NamedTuple):
    """Nodes that may serve one ask, as a heap of (least cost possible, node)."""

    heap: list[tuple[float, int]]
    nodes: frozenset[int]


class _Outlook(NamedTuple):
    """Per node: GPUs free soon, GPUs of stoppable jobs, and the least cost per GPU of those."""

    soon: I64
    stoppable: I64
    per_gpu: F64


class Claims:
    def __init__(self, ledger: Ledger, victims: Victims, *, max_preemptions: int) -> None:
        self.ledger = ledger
        self.victims = victims
        self.releasing = Releasing(ledger)
        self.preempted: list[tuple[Victim, int]] = []
        self._budget = max_preemptions
        self._queues: dict[tuple[int, tuple[int, ...]], _NodeQueue] = {}

    @property
    def possible(self) -> bool:
        """Whether any claim at all could succeed."""
        return any(self.releasing.gpus) or bool(self.victims.stoppable.any())

    def claim(self, claimant: Claimant, ask: Ask, types: tuple[int, ...]) -> bool:
        """Set room aside for the whole ask, stopping what that needs, or change nothing."""
        found = self._on_one_node(claimant, ask, types)
        if found is None and ask.span is not Span.NODE and not self.ledger.keeps_blocks:
            found = self._over_nodes(claimant, ask, types)
        if found is None or len(found.victims) > self._budget:
            return False
        return self._commit(claimant, ask, found)

    def _on_one_node(self, claimant: Claimant, ask: Ask, types: tuple[int, ...]) -> Found | None:
        """Best first: nodes by a lower bound of their cost, looked at closely only when on top."""
        queue = self._queues.get((id(ask), types))
        if queue is None:
            queue = self._queues[id(ask), types] = self._bounds(claimant, ask, types)
        while queue.heap:
            bound, node = queue.heap[0]
            victims = self._cheapest_on(node, claimant, ask)
            if victims is None:
                heapq.heappop(queue.heap)
            elif (cost := total_cost(victims)) > bound:
                heapq.heapreplace(queue.heap, (cost, node))
            else:
                return Found(victims, [node])
        return None

    def _bounds(self, claimant: Claimant, ask: Ask, types: tuple[int, ...]) -> "_NodeQueue":
        """Missing GPUs times the least cost per GPU on the node, for nodes that could ever do."""
        nodes = [n for t in types for n in self.ledger.nodes_of(ask.own[t])]
        outlook = self._outlook(claimant, nodes)
        missing = np.maximum(ask.gpus - outlook.soon, 0)
        rows = np.array(nodes, np.int64)
        rows = rows[outlook.soon[rows] + outlook.stoppable[rows] >= ask.gpus]
        bound = np.where(missing[rows] > 0, missing[rows] * outlook.per_gpu[rows], 0.0)
        heap = list(zip(bound.tolist(), rows.tolist(), strict=True))
        heapq.heapify(heap)
        return _NodeQueue(heap, frozenset(nodes))

    def _outlook(self, claimant: Claimant, nodes: list[int]) -> "_Outlook":
        victims = self.victims
        soon = np.zeros(len(self.ledger.free), np.int64)
        soon[nodes] = [self.releasing.mask(node).bit_count() for node in nodes]
        mine = victims.open_to(claimant.key, claimant.partition)[victims.job]
        node, gpus = victims.node[mine], victims.gpus[mine]
        per_gpu = np.full(len(soon), np.finfo(np.float64).max)
        np.minimum.at(per_gpu, node, victims.cost_gpu_s[victims.job[mine]] / gpus)
        stoppable = np.bincount(node, gpus, minlength=len(soon)).astype(np.int64)
        return _Outlook(soon, stoppable, per_gpu)

    def _cheapest_on(self, node: int, claimant: Claimant, ask: Ask) -> list[Victim] | None:
        victims = self.victims
        ours = [
            victim
            for victim in victims.on_node(node)
            if victims.stoppable[victim.row]
            and (
                victims.threshold[victim.row] > claimant.key
                or victims.partition[victim.row] != claimant.partition
            )
        ]
        if self.ledger.keeps_blocks:
            return self._cheapest_block(node, ask, ours)
        return cheapest_cover(ours, self._missing(node, ask, []))

    def _missing(self, node: int, ask: Ask, stopped: list[Victim]) -> Missing:
        ledger, coming = self.ledger, self.releasing
        return Missing(
            ask.gpus - coming.mask(node).bit_count() - sum(v.gpus for v in stopped),
            ask.cpus * ask.gpus
            - ledger.cpus[node]
            - coming.cpus[node]
            - sum(v.cpus for v in stopped),
            ask.mem_mib * ask.gpus
            - ledger.mem_mib[node]
            - coming.mem_mib[node]
            - sum(v.mem_mib for v in stopped),
        )

    def _cheapest_block(self, node: int, ask: Ask, ours: list[Victim]) -> list[Victim] | None:
        """Of all aligned blocks, the one whose occupants are cheapest to stop."""
        width, soon = self.ledger.gpus[node], self.releasing.mask(node)
        size = 1 << (ask.gpus - 1).bit_length()
        options: list[tuple[float, int, list[Victim]]] = []
        for first in range(0, width - ask.gpus + 1, size):
            block = ((1 << size) - 1) << first & ((1 << width) - 1)
            inside = [victim for victim in ours if victim.mask & block]
            if block & ~soon & ~sum(victim.mask for victim in inside):
                continue
            others = [victim for victim in ours if not victim.mask & block]
            rest = cheapest_cover(others, self._missing(node, ask, inside))
            if rest is not None:
                options.append((total_cost(inside + rest), first, inside + rest))
        return min(options)[2] if options else None

    def _over_nodes(self, claimant: Claimant, ask: Ask, types: tuple[int, ...]) -> Found | None:
        """The narrowest span in which victims suffice, there the cheapest group found."""
        outlook = self._outlook(
            claimant, [n for t in types for n in self.ledger.nodes_of(ask.own[t])]
        )
        open_jobs = self.victims.open_to(claimant.key, claimant.partition)
        for span in (Span.RACK, Span.SWITCH, Span.ANY):
            if span > ask.span:
                break
            best: Found | None = None
            best_cost = math.inf
            for bound, nodes in self._groups(ask, types, span, outlook)[:_MOST_GROUPS]:
                if bound >= best_cost:
                    break
                found = self._in_group(nodes, ask, open_jobs)
                if found is not None and (cost := total_cost(found.victims)) < best_cost:
                    best, best_cost = found, cost
            if best is not None:
                return best
        return None

    def _groups(
        self, ask: Ask, types: tuple[int, ...], span: Span, outlook: "_Outlook"
    ) -> list[tuple[float, list[int]]]:
        """Groups of nodes that could hold the gang, with the least it could cost there."""
        table = self.ledger.snapshot.nodes
        group_of = {Span.RACK: table.rack, Span.SWITCH: table.switch}
        groups: list[tuple[float, list[int]]] = []
        for gpu_type in types:
            rows = np.array(self.ledger.nodes_of(ask.own[gpu_type]), np.int64)
            group = group_of[span][rows] if span in group_of else np.zeros(len(rows), np.int32)
            rows, group = rows[group >= 0], group[group >= 0]
            if not len(rows):
                continue
            soon = np.bincount(group, outlook.soon[rows])
            able = np.flatnonzero(soon + np.bincount(group, outlook.stoppable[rows]) >= ask.gpus)
            for chosen in able.tolist():
                nodes = rows[group == chosen]
                missing = max(0.0, ask.gpus - float(soon[chosen]))
                least = missing * float(outlook.per_gpu[nodes].min()) if missing else 0.0
                groups.append((least, nodes.tolist()))
        return sorted(groups)

    def _in_group(self, nodes: list[int], ask: Ask, open_jobs: Bool) -> Found | None:
        inside = np.zeros(len(self.ledger.free), np.bool_)
        inside[nodes] = True
        candidates = self.victims.in_group(inside, open_jobs)
        gpus = sum(self.releasing.mask(node).bit_count() for node in nodes)
        few = candidates[:_MOST_GANG_VICTIMS]
        chosen = cheapest_cover(few, Missing(ask.gpus - gpus, 0, 0))
        if chosen is None:
            chosen = few
        # GPUs add up over nodes but CPUs and memory do not: stop more until the gang fits.
        further = (victim for victim in candidates if victim not in chosen)
        while not self._gang_fits(nodes, ask, chosen):
            victim = next(further, None)
            if victim is None:
                return None
            chosen = [*chosen, victim]
        return Found(chosen, nodes)

    def _gang_fits(self, nodes: list[int], ask: Ask, stopped: list[Victim]) -> bool:
        gpus, cpus, mem_mib = {}, {}, {}
        for node in nodes:
            gpus[node] = self.releasing.mask(node).bit_count()
            cpus[node] = self.ledger.cpus[node] + self.releasing.cpus[node]
            mem_mib[node] = self.ledger.mem_mib[node] + self.releasing.mem_mib[node]
        held = self.ledger.snapshot.placements
        for victim in stopped:
            for piece in range(int(held.offset[victim.row]), int(held.offset[victim.row + 1])):
                node = int(held.node[piece])
                if node in gpus:
                    gpus[node] += int(held.gpus[piece]).bit_count()
                    cpus[node] += int(held.cpus[piece])
                    mem_mib[node] += int(held.mem_mib[piece])
        room = 0
        for node in nodes:
            by_cpus = cpus[node] // ask.cpus if ask.cpus else gpus[node]
            by_memory = mem_mib[node] // ask.mem_mib if ask.mem_mib else gpus[node]
            room += max(0, min(gpus[node], by_cpus, by_memory))
        return room >= ask.gpus

    def _commit(self, claimant: Claimant, ask: Ask, found: Found) -> bool:
        if not self._watts_suffice(ask, found):
            return False
        for victim in found.victims:
            self.victims.stop(victim.row)
            self.preempted.append((victim, claimant.row))
            for node in self.releasing.add(victim.row):
                # What a victim frees beyond the claim may make its nodes cheaper for others.
                for queue in self._queues.values():
                    if node in queue.nodes:
                        heapq.heappush(queue.heap, (0.0, node))
        self._budget -= len(found.victims)
        self._set_aside(claimant, ask, found.nodes)
        return True

    def _watts_suffice(self, ask: Ask, found: Found) -> bool:
        if not ask.watts:
            return True
        stopped = [victim.row for victim in found.victims]
        coming = self.releasing.watts + float(self.releasing.job_watts[stopped].sum())
        most = max(self.ledger.watts_of(ask, node, ask.gpus) for node in found.nodes)
        return most <= self.ledger.watts_left + coming

    def _set_aside(self, claimant: Claimant, ask: Ask, nodes: list[int]) -> None:
        ledger, releasing = self.ledger, self.releasing
        missing, watts, pieces = ask.gpus, 0.0, []
        for node in sorted(nodes, key=lambda node: (-releasing.room(node, ask), node)):
            gpus = min(missing, releasing.room(node, ask))
            if gpus:
                pieces.append(releasing.set_aside(node, ask, gpus))
                watts += ledger.watts_of(ask, node, gpus) if ask.watts else 0.0
                missing -= gpus
        coming_w = min(watts, releasing.watts)
        releasing.watts -= coming_w
        ledger.take(pieces)
        ledger.charge(claimant.tenant, ledger.gpu_type[nodes[0]], ask.gpus, watts - coming_w)
