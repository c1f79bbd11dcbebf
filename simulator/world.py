"""The world: jobs that arrive, run, stop and finish on nodes that may fail, event by event."""

import heapq
import math
from collections.abc import Callable, Sequence
from enum import IntEnum

import numpy as np

from policies.contract.columns import F64, I64
from policies.contract.plan import Piece, Plan, Start
from policies.contract.snapshot import JobState, NodeState, PriceTable, ProfileTable, Snapshot
from simulator.consumption import Consumption
from simulator.costs import Costs
from simulator.holdings import BrokenPlanError, Holdings, RowPieces
from simulator.job_columns import JobColumns
from simulator.log import RunLog, StretchEnd
from simulator.setting import Setting
from simulator.truth import Truth


class Event(IntEnum):
    """In the order in which events of one moment are handled."""

    FINISH = 0
    RELEASE = 1
    NODE_UP = 2
    NODE_DOWN = 3


# Enum members are slow to look up, and these are asked at every event.
_RELEASE = int(Event.RELEASE)
_QUEUED, _RUNNING = int(JobState.QUEUED), int(JobState.RUNNING)


class World:
    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.costs: Costs = setting.costs
        self.truth = Truth(setting.jobs, setting.machines, setting.profiles, setting.costs)
        self.now_s: float = setting.origin_s
        asked_rate = np.array(
            [self.truth.asked_rate(row, kind) for row, kind in enumerate(setting.first_types())]
        )
        self.jobs = JobColumns(
            setting.jobs, setting.believed_work, asked_rate, setting.costs, setting.origin_s
        )
        self.holdings = Holdings(setting.machines, self.jobs, setting.tenants)
        self.log = RunLog()
        self.finished_s: F64 = np.full(len(setting.jobs), np.nan)
        self.first_start_s: F64 = np.full(len(setting.jobs), np.nan)
        self.finished = 0
        self.queued = 0
        self.rounds = 0
        self.changed = False
        """Whether anything but time has moved since the last plan was applied."""
        self._arrivals: list[float] = [*setting.jobs.submitted_s.tolist(), math.inf]
        self._arrived = 0
        self._first_live = 0
        self._events: list[tuple[float, int, int, int]] = []
        self._epoch: list[int] = [0] * len(setting.jobs)
        self._watts: dict[int, float] = {}
        self.consumption = Consumption(setting)
        self._handlers: dict[int, Callable[[int], None]] = {
            Event.FINISH: self._finish,
            Event.RELEASE: self._release,
            Event.NODE_UP: self._node_up,
            Event.NODE_DOWN: self._node_down,
        }
        for at_s, node, up_s in setting.outages:
            if up_s > self.now_s:
                self._schedule(max(at_s, self.now_s), Event.NODE_DOWN, node)
                self._schedule(up_s, Event.NODE_UP, node)

    @property
    def running(self) -> int:
        return len(self.holdings.of_job)

    def next_event_s(self) -> float:
        events, epoch = self._events, self._epoch
        while events and events[0][1] <= _RELEASE and events[0][3] != epoch[events[0][2]]:
            heapq.heappop(events)
        arrival_s = self._arrivals[self._arrived]
        return min(arrival_s, events[0][0]) if events else arrival_s

    def advance(self, to_s: float) -> None:
        """Let everything happen that is due at `to_s`, the time of the next event."""
        self.now_s = to_s
        while self.next_event_s() <= to_s and self._events and self._events[0][0] <= to_s:
            _, kind, row, _ = heapq.heappop(self._events)
            self._handlers[kind](row)
            self.changed = True
        while self._arrivals[self._arrived] <= to_s:
            self.jobs.live[self._arrived] = True
            self._arrived += 1
            self.queued += 1
            self.changed = True

    def live_rows(self) -> I64:
        live = self.jobs.live
        while self._first_live < self._arrived and not live[self._first_live]:
            self._first_live += 1
        rows = live[self._first_live : self._arrived].nonzero()[0] + self._first_live
        rows.flags.writeable = False
        return rows

    def snapshot(self, prices: PriceTable, profiles: ProfileTable) -> Snapshot:
        setting, rows = self.setting, self.live_rows()
        power_budget_w, energy_left_j, energy_until_s = self.consumption.budgets(self.now_s)
        peak_w, per_w = self.consumption.peak(self.now_s)
        return Snapshot(
            now_s=self.now_s,
            seed=(setting.seed * 1_000_003 + setting.first_seed + self.rounds) % 2**63,
            pue=setting.pue,
            power_budget_w=power_budget_w,
            energy_left_j=energy_left_j,
            energy_until_s=energy_until_s,
            peak_w=peak_w,
            demand_price_per_w=per_w,
            hands_over=self.costs.hands_over,
            power_off=setting.power_off,
            min_idle_s=setting.min_idle_s,
            jobs=self.jobs.table(rows, self.now_s),
            placements=self.holdings.placements(rows),
            nodes=self.holdings.node_table(),
            gpu_types=setting.machines.gpu_types,
            partitions=setting.machines.partitions,
            tenants=self.holdings.tenant_table(self.consumption.left_j(self.now_s)),
            profiles=profiles,
            prices=prices,
        )

    def apply(self, plan: Plan) -> None:
        """What was free in the snapshot is taken first; what is given up is free afterwards.

        Where GPUs change hands at once, everything is given up first and the plan is then done:
        nothing is left to decide at this moment.
        """
        self.changed = False
        self.rounds += 1
        if self.costs.hands_over:
            self._hand_over(plan)
            self.changed = False
            return
        for retune in plan.retunes:
            self._retune(retune.job, _pieces(retune.pieces))
        for act in plan.starts:
            self._start(act.job, _pieces(act.pieces), act.clock_mhz)
        # All leave before any arrives: they may change places.
        for move in plan.moves:
            self._lift(move.job, StretchEnd.MOVED)
        for move in plan.moves:
            self._set_down(move.job, _pieces(move.pieces), move.clock_mhz)
        for resize in plan.resizes:
            self._lift(resize.job, StretchEnd.RESIZED)
            self._set_down(resize.job, _pieces(resize.pieces), resize.clock_mhz)
        for clock in plan.clocks:
            self._set_clock(clock.job, clock.clock_mhz)
        for preempt in plan.preempts:
            self._preempt(preempt.job)
        for switched in plan.power:
            self._switch(switched.node, on=switched.on)

    def _hand_over(self, plan: Plan) -> None:
        for preempt in plan.preempts:
            self._preempt(preempt.job)
        for move in plan.moves:
            self._interrupt(move.job, StretchEnd.MOVED, saves=True)
        for resize in plan.resizes:
            self._interrupt(resize.job, StretchEnd.RESIZED, saves=True)
        for retune in plan.retunes:
            self._retune(retune.job, _pieces(retune.pieces))
        for start in plan.starts:
            self._start(start.job, _pieces(start.pieces), start.clock_mhz)
        for act in (*plan.moves, *plan.resizes):
            self.jobs.started_s[act.job] = self.now_s
            self._run(act.job, _pieces(act.pieces), act.clock_mhz, self.costs.restart_s)
        for clock in plan.clocks:
            self._set_clock(clock.job, clock.clock_mhz)
        for switched in plan.power:
            self._switch(switched.node, on=switched.on)

    def adopt(self, starts: Sequence[Start]) -> None:
        """Jobs that ran before the world began, which pay nothing for their start."""
        for act in starts:
            self._start(act.job, _pieces(act.pieces), act.clock_mhz, pays=False)

    def give_up(self, rows: Sequence[int], release_s: float) -> None:
        """Running jobs that are stopping hold their GPUs so much longer, without progress."""
        for row in rows:
            self.jobs.state[row] = JobState.STOPPING
            self._epoch[row] += 1
            self.jobs.rate[row] = 0.0
            at_s = self.now_s + release_s
            self._schedule(at_s, Event.RELEASE, row, self._epoch[row])

    def close(self) -> None:
        """End the run now: what still runs is logged as far as it came."""
        for row in sorted(self.holdings.of_job):
            self._end_stretch(row, StretchEnd.OPEN, 0.0)

    def _start(self, row: int, pieces: RowPieces, clock_mhz: int, *, pays: bool = True) -> None:
        if self.jobs.state[row] != _QUEUED or not self.jobs.live[row]:
            raise BrokenPlanError(f"job {row} starts but is not queued")
        first = math.isnan(self.first_start_s[row])
        if first:
            self.first_start_s[row] = self.now_s
        self.queued -= 1
        self.jobs.state[row] = _RUNNING
        self.jobs.started_s[row] = self.now_s
        pause_s = self.costs.start_s if first else self.costs.restart_s
        self._run(row, pieces, clock_mhz, pause_s if pays else 0.0)

    def _run(self, row: int, pieces: RowPieces, clock_mhz: int, idle_s: float) -> None:
        jobs = self.jobs
        gpus = self.holdings.take(row, pieces)
        self._use(row, 1)
        rate, watts = self.truth.behaviour(row, pieces, gpus, clock_mhz)
        resumes_s = self.now_s + idle_s
        jobs.since_s[row] = self.now_s
        jobs.resumes_s[row] = resumes_s
        jobs.rate[row] = rate
        jobs.clock_mhz[row] = clock_mhz
        self._watts[row] = watts
        self._draw(row, watts)
        left = float(jobs.work[row]) - float(jobs.done[row])
        ends_s = resumes_s + left / rate + self.costs.end_s
        self._schedule(ends_s, Event.FINISH, row, self._epoch[row])

    def _draw(self, row: int, watts: float) -> None:
        self.consumption.draw(self.now_s, int(self.setting.jobs.tenant[row]), watts)

    def _use(self, row: int, sign: int) -> None:
        """Nodes of which this is the only job."""
        on_node = self.holdings.on_node
        alone = (node for node, *_ in self.holdings.of_job[row] if len(on_node[node]) == 1)
        self.consumption.use(self.now_s, alone, sign)

    def _end_stretch(self, row: int, end: StretchEnd, lost_work: float) -> None:
        jobs, now_s = self.jobs, self.now_s
        since_s, gpus = float(jobs.since_s[row]), int(jobs.held_gpus[row])
        watts = self._watts.pop(row)
        self._draw(row, -watts)
        self._use(row, -1)
        idle_s = min(float(jobs.resumes_s[row]), now_s) - since_s + self._over_s(row)
        stretch = (row, since_s, now_s, gpus, watts, float(jobs.rate[row]), idle_s, lost_work, end)
        self.log.add(stretch, self.holdings.give(row, now_s))
        jobs.attained_gpu_s[row] += gpus * (now_s - since_s)
        jobs.rate[row] = 0.0
        jobs.since_s[row] = jobs.resumes_s[row] = now_s
        self._epoch[row] += 1

    def _over_s(self, row: int) -> float:
        """Seconds for which the work has been done without anybody knowing."""
        jobs = self.jobs
        rate = float(jobs.rate[row])
        if not self.costs.end_s or not rate:
            return 0.0
        left = float(jobs.work[row]) - float(jobs.done[row])
        return max(self.now_s - (float(jobs.resumes_s[row]) + left / rate), 0.0)

    def _finish(self, row: int) -> None:
        self._end_stretch(row, StretchEnd.FINISHED, 0.0)
        self.jobs.done[row] = self.jobs.work[row]
        self.jobs.live[row] = False
        self.finished_s[row] = self.now_s
        self.finished += 1

    def _preempt(self, row: int) -> None:
        if self.jobs.state[row] != JobState.RUNNING:
            raise BrokenPlanError(f"job {row} is preempted but is not running")
        pieces = self.holdings.of_job[row]
        self._interrupt(row, StretchEnd.PREEMPTED, saves=self.costs.saves_on_stop)
        if not self.costs.saves_on_stop or not self.costs.checkpoint_s:
            self._requeue(row)
            return
        self._run(row, pieces, int(self.jobs.clock_mhz[row]), math.inf)
        self.give_up([row], self.costs.checkpoint_s)

    def _interrupt(self, row: int, end: StretchEnd, *, saves: bool) -> None:
        """Take the GPUs from the job; without saving it falls back to its last checkpoint."""
        jobs = self.jobs
        done = jobs.done_at(row, self.now_s)
        kept = done if saves else self._checkpointed(row)
        self._end_stretch(row, end, done - kept)
        jobs.done[row] = kept

    def _checkpointed(self, row: int) -> float:
        jobs, every_s = self.jobs, self.costs.checkpoint_every_s
        if not math.isfinite(every_s):
            return float(jobs.done[row])
        progress_s = max(self.now_s - float(jobs.resumes_s[row]), 0.0)
        kept = float(jobs.done[row]) + float(jobs.rate[row]) * (progress_s // every_s) * every_s
        return min(kept, float(jobs.work[row]))

    def _release(self, row: int) -> None:
        self._end_stretch(row, StretchEnd.SAVED, 0.0)
        self._requeue(row)

    def _requeue(self, row: int) -> None:
        self.jobs.state[row] = JobState.QUEUED
        self.jobs.started_s[row] = np.nan
        self.jobs.clock_mhz[row] = 0
        self.queued += 1
        self.changed = True

    def _lift(self, row: int, end: StretchEnd) -> None:
        if self.jobs.state[row] != JobState.RUNNING:
            raise BrokenPlanError(f"job {row} is moved but is not running")
        self._interrupt(row, end, saves=self.costs.saves_on_stop)
        self.jobs.started_s[row] = self.now_s
        self.changed = True

    def _set_down(self, row: int, pieces: RowPieces, clock_mhz: int) -> None:
        saving_s = self.costs.checkpoint_s if self.costs.saves_on_stop else 0.0
        self._run(row, pieces, clock_mhz, self.costs.restart_s + saving_s)

    def _set_clock(self, row: int, clock_mhz: int) -> None:
        pieces = self.holdings.of_job[row]
        idle_s = max(float(self.jobs.resumes_s[row]) - self.now_s, 0.0)
        self._interrupt(row, StretchEnd.CLOCKED, saves=True)
        self._run(row, pieces, clock_mhz, idle_s)

    def _retune(self, row: int, pieces: RowPieces) -> None:
        """Nothing is lost: only the speed changes."""
        if self.jobs.state[row] != JobState.RUNNING:
            raise BrokenPlanError(f"job {row} is retuned but is not running")
        idle_s = max(float(self.jobs.resumes_s[row]) - self.now_s, 0.0)
        clock_mhz = int(self.jobs.clock_mhz[row])
        self._interrupt(row, StretchEnd.RETUNED, saves=True)
        self._run(row, pieces, clock_mhz, idle_s)

    def _switch(self, node: int, *, on: bool) -> None:
        if on:
            self._set_node(node, NodeState.BOOTING)
            self._schedule(self.now_s + self.costs.boot_s, Event.NODE_UP, node)
        else:
            self._set_node(node, NodeState.OFF)

    def boot(self, nodes: Sequence[int], in_s: float) -> None:
        """Let nodes that boot already be ready so much later."""
        for node in nodes:
            self._schedule(self.now_s + in_s, Event.NODE_UP, node)

    def _node_up(self, node: int) -> None:
        self._set_node(node, NodeState.READY)

    def _node_down(self, node: int) -> None:
        """Jobs on it go back to their last checkpoint and to the queue, those stopping as well."""
        for row in sorted(self.holdings.on_node[node]):
            stopping = self.jobs.state[row] == JobState.STOPPING
            self._interrupt(row, StretchEnd.FAILED, saves=bool(stopping))
            self._requeue(row)
        self._set_node(node, NodeState.UNAVAILABLE)

    def _set_node(self, node: int, state: NodeState) -> None:
        off_before = self.holdings.node_state[node] == NodeState.OFF
        if off_before != (state == NodeState.OFF):
            self.consumption.switch(self.now_s, node, on=bool(off_before))
        self.holdings.node_state[node] = state
        self.holdings.idle_since_s[node] = self.now_s
        self.log.node_changes.append((self.now_s, node, int(state)))
        self.changed = True

    def _schedule(self, at_s: float, kind: Event, row: int, epoch: int = 0) -> None:
        heapq.heappush(self._events, (at_s, kind, row, epoch))


def _pieces(pieces: tuple[Piece, ...]) -> RowPieces:
    return tuple((piece.node, piece.gpus, piece.cpus, piece.mem_mib) for piece in pieces)
