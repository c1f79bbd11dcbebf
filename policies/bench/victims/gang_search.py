"""The nodes over which room for a gang costs little work, from the narrowest span outwards."""

import math
from operator import add

import numpy as np

from policies.bench.ledger import Ask, Ledger
from policies.bench.victims.cover import Missing, Stops, Victim, cheapest_cover, total_cost
from policies.bench.victims.releasing import Releasing
from policies.bench.victims.table import Outlook, Preemptor, Victims
from policies.contract.columns import Bool
from policies.contract.snapshot import Span

# A gang looks at this many of the victims with the least cost per GPU, and at this many of the
# racks or switches that promise to be cheapest.
_MOST_VICTIMS = 64
_MOST_GROUPS = 8

_Groups = list[tuple[float, list[int]]]


class GangSearch:
    def __init__(self, ledger: Ledger, victims: Victims, releasing: Releasing) -> None:
        self.ledger = ledger
        self.victims = victims
        self.releasing = releasing
        # Asks for which GPUs alone do not suffice, or cost more stops than are allowed: preemptors
        # come in rank order, so later ones find no more.
        self._hopeless: set[tuple[int, tuple[int, ...], int, Span]] = set()

    def cheapest(
        self, preemptor: Preemptor, ask: Ask, types: tuple[int, ...], allowance: int
    ) -> Stops | None:
        key = (preemptor.partition, types, ask.gpus, ask.span)
        if key in self._hopeless:
            return None
        outlook = self.victims.outlook(preemptor, self.releasing.soon())
        open_jobs = self.victims.open_to(preemptor)
        hopeless = True
        for span in (Span.RACK, Span.SWITCH, Span.ANY):
            if span > ask.span:
                break
            groups = self._groups(ask, types, span, outlook)[:_MOST_GROUPS]
            found = self._best_group(groups, ask, open_jobs)
            if found is not None and len(found.victims) <= allowance:
                return found
            hopeless &= not groups or found is not None
        if hopeless:
            self._hopeless.add(key)
        return None

    def _best_group(self, groups: _Groups, ask: Ask, open_jobs: Bool) -> Stops | None:
        best: Stops | None = None
        best_cost = math.inf
        for bound, nodes in groups:
            if bound >= best_cost:
                break
            found = self._in_group(nodes, ask, open_jobs)
            if found is not None and (cost := total_cost(found.victims)) < best_cost:
                best, best_cost = found, cost
        return best

    def _groups(self, ask: Ask, types: tuple[int, ...], span: Span, outlook: Outlook) -> _Groups:
        """Groups of nodes with GPUs enough for the gang, with the least they could cost, sorted."""
        table = self.ledger.snapshot.nodes
        group_of = {Span.RACK: table.rack, Span.SWITCH: table.switch}
        groups: _Groups = []
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

    def _in_group(self, nodes: list[int], ask: Ask, open_jobs: Bool) -> Stops | None:
        inside = np.zeros(len(self.ledger.free), np.bool_)
        inside[nodes] = True
        candidates = self.victims.in_group(inside, open_jobs, _MOST_VICTIMS)
        gpus = sum(self.releasing.mask(node).bit_count() for node in nodes)
        chosen = cheapest_cover(candidates, Missing(ask.gpus - gpus, 0, 0))
        if chosen is None:
            return None
        # GPUs add up over nodes but CPUs and memory do not: stop more until the gang fits.
        further = iter([victim for victim in candidates if victim not in chosen])
        while not self._fits(nodes, ask, chosen):
            victim = next(further, None)
            if victim is None:
                return None
            chosen = [*chosen, victim]
        return Stops(chosen, nodes)

    def _fits(self, nodes: list[int], ask: Ask, stopped: list[Victim]) -> bool:
        """Whether the nodes have room for the gang once these have stopped, too."""
        more = dict.fromkeys(nodes, (0, 0, 0))
        for victim in stopped:
            for node, mask, cpus, mem_mib in self.ledger.held(victim.row):
                if node in more:
                    freed = mask.bit_count(), cpus, mem_mib
                    more[node] = tuple(map(add, more[node], freed))
        room = 0
        for node in nodes:
            room += max(0, self.releasing.room(node, ask, *more[node]))
        return room >= ask.gpus
