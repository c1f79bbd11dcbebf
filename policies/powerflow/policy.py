"""An elastic policy: decide what every job is to have, then change what pays to be changed."""

import numpy as np

from policies.bench.ladder import Ladders
from policies.bench.ledger import Ledger
from policies.bench.machine_layout import LayoutCache
from policies.bench.placement import PLACEMENTS
from policies.contract.columns import I64
from policies.contract.plan import Explained, Plan
from policies.contract.snapshot import JobState, Snapshot
from policies.explain.waiting import Left, explain
from policies.powerflow.book import Book
from policies.powerflow.candidates import Candidate, Roster
from policies.powerflow.changes import Changes
from policies.powerflow.greedy import Growth, footing
from policies.powerflow.parameters import AfsParameters, PowerFlowParameters
from policies.powerflow.pools import PoolRoom
from policies.powerflow.switching import switched


class Elastic:
    def __init__(self, rules: PowerFlowParameters | AfsParameters, growth: Growth) -> None:
        self.rules = rules
        self.growth = growth
        self._ladders: Ladders | None = None
        self._shelf = LayoutCache()

    @property
    def work_conserving(self) -> bool:
        return False

    @property
    def minds_running(self) -> bool:
        return True

    def plan(self, snapshot: Snapshot) -> Plan:
        rules = self.rules
        roster = Roster(snapshot, min_run_s=rules.min_run_s)
        room = PoolRoom(snapshot, roster.movable, roster.tuned, switches=rules.power_off)
        candidates = roster.candidates(room, self._ladders_of(snapshot))
        footing(room, candidates)
        self.growth(room, candidates)
        ledger = Ledger(
            snapshot,
            PLACEMENTS[rules.placement],
            keeps_blocks=rules.placement == "buddy",
            shelf=self._shelf,
        )
        book = Book(ledger)
        changes = Changes(book, candidates, preempts=rules.preempt)
        changes.run()
        power = switched(room, ledger) if rules.power_off else ()

        def say_why() -> Explained:
            return explain(ledger, ledger.atlas, _left(snapshot, changes))

        return Plan(
            starts=tuple(book.starts),
            preempts=tuple(book.preempts),
            moves=tuple(book.moves),
            resizes=tuple(book.resizes),
            clocks=tuple(book.clocks),
            power=power,
            explain=say_why,
            objective=_mean_left_s(candidates),
            shown=_shown(room, candidates),
        )

    def _ladders_of(self, snapshot: Snapshot) -> Ladders:
        """Rounds mostly see the very table of the round before; its ladders are kept."""
        known = self._ladders
        if known is None or not known.serves(snapshot):
            known = self._ladders = Ladders(snapshot, self.rules.clock)
        return known


def _left(snapshot: Snapshot, changes: Changes) -> Left:
    jobs = snapshot.jobs
    at = [i for i, one in enumerate(changes.queue) if one.row not in changes.book.acted]
    rows = np.array([changes.queue[i].row for i in at], np.int64)
    taking_part = np.array([one.row for one in changes.queue], np.int64)
    others = np.setdiff1d(np.flatnonzero(jobs.state == JobState.QUEUED), taking_part)
    nobody: I64 = np.zeros(len(others), np.int64)
    claimed = np.isin(rows, np.array(sorted(changes.claimed), np.int64))
    count = len(rows) + len(others)
    return Left(
        rows=np.concatenate([rows, others]),
        ahead=np.concatenate([np.array(at, np.int64), nobody]).astype(np.int32),
        claimed=np.concatenate([claimed, nobody.astype(np.bool_)]),
        until_s=np.full(count, np.nan),
    )


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
