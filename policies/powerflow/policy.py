"""An elastic policy: decide what every job is to have, then change what pays to be changed."""

from dataclasses import replace

import numpy as np

from policies.bench.draft import PlanDraft
from policies.bench.ladder import Ladders
from policies.bench.machine_layout import LayoutCache
from policies.bench.placement import placing_ledger, takes_of
from policies.bench.reservations import reserve
from policies.contract.plan import Plan
from policies.contract.snapshot import NodeState, Snapshot
from policies.powerflow.candidates import Candidate, candidates_of, movable_jobs, tuned_jobs
from policies.powerflow.changes import Changes
from policies.powerflow.greedy import Growth, footing
from policies.powerflow.parameters import AfsParameters, PowerFlowParameters
from policies.powerflow.pools import PoolRoom


class Elastic:
    work_conserving = False
    minds_running = True

    def __init__(self, rules: PowerFlowParameters | AfsParameters, growth: Growth) -> None:
        self.rules = rules
        self.growth = growth
        self._ladders: Ladders | None = None
        self._layouts = LayoutCache()

    def plan(self, snapshot: Snapshot) -> Plan:
        rules = self.rules
        takes = takes_of(rules.placement)
        reservations = reserve(snapshot, rules.patience_s, takes=takes, wakes=rules.power_off)
        snapshot = within_energy(reservations.seen, rules.mean_w)
        tuned = tuned_jobs(snapshot)
        movable = movable_jobs(snapshot, tuned, rules.min_run_s)
        switches = rules.power_off and snapshot.power_off
        room = PoolRoom(snapshot, movable, tuned, switches=switches)
        candidates = candidates_of(room, self._ladders_of(snapshot), movable, tuned)
        footing(room, candidates)
        self.growth(room, candidates)
        ledger = placing_ledger(snapshot, rules.placement, self._layouts)
        draft = PlanDraft(ledger, reservations)
        Changes(draft, candidates, preempts=rules.preempt).run()
        if switches:
            switch_nodes(room, draft)
        return draft.plan(
            np.array([one.row for one in candidates if not one.running], np.int64),
            objective=_mean_left_s(candidates),
            shown=_shown(room, candidates),
            lent=False,
        )

    def _ladders_of(self, snapshot: Snapshot) -> Ladders:
        """Rounds mostly see the very table of the round before; its ladders are kept."""
        known = self._ladders
        if known is None or not known.serves(snapshot):
            known = self._ladders = Ladders(
                snapshot, self.rules.clock, hosts=self.rules.counts_hosts
            )
        return known


def within_energy(snapshot: Snapshot, mean_w: float) -> Snapshot:
    """With a power budget of no more than an energy budget's mean watts, PUE included.

    A plan does not know what was drawn before it, nor who comes after: only if no moment draws more
    than the mean does no stretch use more than its joules.
    """
    return replace(snapshot, power_budget_w=min(snapshot.power_budget_w, mean_w / snapshot.pue))


def switch_nodes(room: PoolRoom, draft: PlanDraft) -> None:
    """On what jobs are to have, within the watts that this round leaves; off what nothing needs."""
    nodes = draft.snapshot.nodes
    for pool in room.pools.values():
        for one in pool.asleep:
            untouched = draft.ledger.free[one.node] == int(nodes.free_gpus[one.node])
            if nodes.state[one.node] == NodeState.READY and untouched:
                draft.sleep(one.node)
        for one in pool.woken:
            if nodes.state[one.node] == NodeState.OFF:
                draft.wake(one.node)


def _mean_left_s(candidates: list[Candidate]) -> float:
    """Mean seconds left of the jobs that are to run and whose work is known."""
    left_s = [one.left_s(one.rung, one.clock) for one in candidates if one.rung >= 0]
    known = [seconds for seconds in left_s if seconds < np.inf]
    return float(np.mean(known)) if known else 0.0


def _shown(room: PoolRoom, candidates: list[Candidate]) -> dict[str, float]:
    shown = {
        "jobs": float(sum(one.rung >= 0 for one in candidates)),
        "gpus": float(sum(one.gpus for one in candidates)),
    }
    if np.isfinite(room.watts_left):
        shown["watts_left"] = room.watts_left
    return shown
