"""Room for a job that does not fit: set aside what is being given up, and stop the cheapest work.

Nothing is taken that runs: the victims' GPUs are free only once they have stopped. Until then the
preemptor waits, and what it set aside of the free GPUs is out of reach for jobs ranked after it.
"""

import math

from policies.bench.ledger import Ask, Ledger
from policies.bench.victims.cover import Stops, Victim
from policies.bench.victims.gang_search import GangSearch
from policies.bench.victims.node_search import NodeSearch
from policies.bench.victims.releasing import Releasing
from policies.bench.victims.table import Preemptor, Victims
from policies.contract.snapshot import Span


class Preemption:
    def __init__(self, ledger: Ledger, victims: Victims, *, max_preemptions: int) -> None:
        self.ledger = ledger
        self.victims = victims
        self.releasing = Releasing(ledger)
        self.preempted: list[tuple[Victim, int]] = []
        self._allowance = max_preemptions
        threshold, home = victims.threshold[victims.stoppable], victims.partition[victims.stoppable]
        self._highest = float(threshold.max(initial=-math.inf))
        self._homes = (int(home.min()), int(home.max())) if len(home) else ()
        self._nodes = NodeSearch(ledger, victims, self.releasing)
        self._gangs = GangSearch(ledger, victims, self.releasing)

    @property
    def possible(self) -> bool:
        """Whether room could be made for anybody at all."""
        stoppable = self._allowance > 0 and bool(self.victims.stoppable.any())
        return stoppable or bool(self.releasing.nodes)

    def make_room(self, preemptor: Preemptor, ask: Ask, types: tuple[int, ...]) -> bool:
        """Set room aside for the whole ask, stopping what that needs, or change nothing."""
        if not self._allowance and not self.releasing.nodes:
            return False
        if not self.releasing.began and not self._may_stop(preemptor):
            return False
        found = self._nodes.cheapest(preemptor, ask, types, self._allowance)
        if found is None and ask.span is not Span.NODE and not self.ledger.keeps_blocks:
            found = self._gangs.cheapest(preemptor, ask, types, self._allowance)
        if found is None or not self._watts_suffice(preemptor, ask, found):
            return False
        self._stop(found.victims, preemptor)
        self._set_aside(preemptor, ask, found.nodes)
        return True

    def _may_stop(self, preemptor: Preemptor) -> bool:
        """False only when there is nobody whom the preemptor may stop."""
        if preemptor.key < self._highest:
            return True
        guests = any(home != preemptor.partition for home in self._homes)
        return guests and bool(self.victims.open_to(preemptor).any())

    def _stop(self, victims: list[Victim], preemptor: Preemptor) -> None:
        for victim in victims:
            self.victims.stop(victim.row)
            self.preempted.append((victim, preemptor.row))
            self._nodes.changed(self.releasing.add(victim.row))
        self._allowance -= len(victims)

    def _watts_suffice(self, preemptor: Preemptor, ask: Ask, found: Stops) -> bool:
        if not ask.watts:
            return True
        ledger, releasing, home = self.ledger, self.releasing, preemptor.partition
        stopped = [victim.row for victim in found.victims]
        coming = releasing.watts + float(releasing.job_watts[stopped].sum())
        at_home = releasing.partition_watts[home] + releasing.piece_watts_in(stopped, home)
        most = max(ledger.watts_of(ask, node, ask.gpus) for node in found.nodes)
        return most <= min(ledger.watts_left + coming, ledger.partition_watts_left[home] + at_home)

    def _set_aside(self, preemptor: Preemptor, ask: Ask, nodes: list[int]) -> None:
        ledger, releasing = self.ledger, self.releasing
        missing, watts, pieces = ask.gpus, 0.0, []
        for node in sorted(nodes, key=lambda node: (-releasing.room(node, ask), node)):
            gpus = min(missing, releasing.room(node, ask))
            if gpus:
                pieces.append(releasing.set_aside(node, ask, gpus))
                watts += ledger.watts_of(ask, node, gpus)
                missing -= gpus
        coming_w = min(watts, releasing.watts)
        at_home_w = min(watts, releasing.partition_watts[preemptor.partition])
        releasing.watts -= coming_w
        releasing.partition_watts[preemptor.partition] -= at_home_w
        ledger.watts_left -= watts - coming_w
        ledger.partition_watts_left[preemptor.partition] -= watts - at_home_w
        ledger.take(pieces)
        ledger.charge(preemptor.tenant, ledger.gpu_type[nodes[0]], ask.gpus)
