"""The classic policy: an ordering, a placement, a preemption rule and a backfill rule, composed."""

from collections.abc import Callable

import numpy as np

from policies.bench.draft import PlanDraft
from policies.bench.ladder import Ladders
from policies.bench.ledger import Hold, Ledger
from policies.bench.machine_layout import LayoutCache
from policies.bench.orderings import Ordering, ranked
from policies.bench.placement import placing_ledger, takes_of
from policies.bench.reservations import Reservations, reserve
from policies.bench.roster import lost_s, remaining_s
from policies.bench.victims.preemption import Preemption
from policies.bench.victims.table import Victims
from policies.classic.backfill import Backfill
from policies.classic.moving import Moves
from policies.classic.parameters import ClassicParameters
from policies.classic.queue_pass import QueuePass
from policies.contract.columns import F64
from policies.contract.plan import Plan
from policies.contract.snapshot import JobState, Snapshot

# Enum members are slow to look up, and these are asked every round.
_QUEUED, _STOPPING = int(JobState.QUEUED), int(JobState.STOPPING)


class Classic:
    minds_running = False

    def __init__(self, rules: ClassicParameters, ordering: Ordering) -> None:
        self.rules = rules
        self.ordering = ordering
        self._layouts = LayoutCache()

    @property
    def work_conserving(self) -> bool:
        rules = self.rules
        return not rules.strict and not rules.reservations and rules.placement != "buddy"

    def plan(self, snapshot: Snapshot) -> Plan:
        reservations = self._reserve(snapshot)
        snapshot = reservations.seen
        jobs, left_s = snapshot.jobs, remaining_s(snapshot)
        ledger = placing_ledger(snapshot, self.rules.placement, self._layouts)
        draft = PlanDraft(ledger, reservations)
        key = self.ordering(snapshot, left_s)
        free = (jobs.state == _QUEUED) & ~jobs.blocked.astype(np.bool_)
        queue = ranked(snapshot, key, free.nonzero()[0])
        queue_pass = QueuePass(
            draft,
            queue,
            key,
            strict=self.rules.strict,
            preemption=self._preemption(draft.ledger, key, left_s),
            backfill=self._backfill(draft.ledger),
            moves=self._moves(draft),
            clock_mhz=self._clocks(snapshot),
        )
        until_s = queue_pass.run()
        lost_gpu_s = float(draft.lost_gpu_s())
        return draft.plan(
            queue,
            objective=lost_gpu_s,
            shown={"lost_gpu_s": lost_gpu_s},
            until_s=until_s,
            only_room=queue_pass.next_in_line if self._keeps_order else None,
        )

    @property
    def _keeps_order(self) -> bool:
        """Whether nobody passes the first job that waits for room, or only who ends before it."""
        return self.rules.strict or bool(self.rules.reservations)

    def _reserve(self, snapshot: Snapshot) -> Reservations:
        if self._keeps_order:
            return Reservations(snapshot, snapshot)
        takes = takes_of(self.rules.placement)
        return reserve(snapshot, self.rules.patience_s, takes=takes)

    def _preemption(self, ledger: Ledger, key: F64, left_s: F64) -> Preemption | None:
        rules, snapshot = self.rules, ledger.snapshot
        if not (
            rules.preempt
            or snapshot.partitions.lends.any()
            or (snapshot.jobs.state == _STOPPING).any()
        ):
            return None
        lost = lost_s(snapshot)
        key_once_stopped = self.ordering(snapshot, left_s + lost)
        victims = Victims(
            snapshot,
            np.minimum(key, key_once_stopped),
            min_run_s=rules.safe_s,
            by_rank=rules.preempt,
            lost=lost,
        )
        preemption = Preemption(ledger, victims, max_preemptions=rules.max_preemptions)
        return preemption if preemption.possible else None

    def _clocks(self, snapshot: Snapshot) -> Callable[[int, Hold], int]:
        """The clock of a started job; 0, the highest, unless the rules want the efficient one."""
        if self.rules.clock == "max":
            return lambda row, hold: 0
        ladders, profile = Ladders(snapshot, "efficient"), snapshot.jobs.profile

        def efficient(row: int, hold: Hold) -> int:
            ladder = ladders.of(int(profile[row]), hold.gpu_type, hold.gpus, hold.gpus)
            return ladder.mhz[0][0]

        return efficient

    def _moves(self, draft: PlanDraft) -> Moves | None:
        if not self.rules.migration:
            return None
        everyone = np.full(len(draft.snapshot.jobs), np.inf)
        min_run_s = self.rules.safe_s
        return Moves(draft, Victims(draft.snapshot, everyone, min_run_s=min_run_s, by_rank=True))

    def _backfill(self, ledger: Ledger) -> Backfill | None:
        rules = self.rules
        if not rules.reservations:
            return None
        return Backfill(ledger, reservations=rules.reservations, default_run_s=rules.default_run_s)
