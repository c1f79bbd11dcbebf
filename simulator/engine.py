"""One run: rounds of a policy over a world, at fixed times, on events, or both."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from policies.contract.columns import F64
from policies.contract.invariants import check_plan
from policies.contract.policy import Policy
from simulator.holdings import BrokenPlanError
from simulator.log import RunLog
from simulator.prices import PriceView
from simulator.samples import QueueSampler, Samples
from simulator.setting import Setting
from simulator.world import World

# A policy may stop work in one round and start the claimant in the next, at the same moment; this
# many rounds without an event in between is a policy going round in circles.
MOST_ROUNDS_AT_ONCE = 1000

Progress = Callable[[float, int], None]
"""Told the simulated time and how many jobs are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """When rounds are held: every `interval_s`, or on every event, or both.

    With `at_latest_s` another one is held so long after the last, if nothing happened before.

    A run in which nothing runs and nothing can happen ends after `patience_s`. Of the rounds since
    which nothing but time has moved, `unchanged` holds all, those while jobs are queued, or none,
    for orders that time alone does not change. With `follow_up` work that stops at once is followed
    by another round at once, as a completion nudges a live one. A run that is about the
    `first_jobs` ends when all of them have finished.
    """

    interval_s: float = math.inf
    at_latest_s: float = math.inf
    on_events: bool = True
    until_s: float = math.inf
    patience_s: float = 14 * 86_400.0
    sample_s: float = 300.0
    check_plans: bool = False
    unchanged: Literal["all", "queued", "none"] = "all"
    follow_up: bool = False
    first_jobs: int | None = None

    def __post_init__(self) -> None:
        if math.isinf(self.interval_s) and not self.on_events:
            raise ValueError("rounds need an interval, events, or both")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Outcome:
    """What a run leaves behind, for the metrics; times of jobs that never came so far are nan."""

    setting: Setting
    first_start_s: F64
    finished_s: F64
    ended_s: float
    rounds: int
    log: RunLog
    samples: Samples = field(default_factory=Samples)


class Engine:
    def __init__(self, setting: Setting, policy: Policy, pace: Pace) -> None:
        self.world = World(setting)
        self.policy = policy
        self.pace = pace
        self.setting = setting
        self._prices = PriceView(setting)
        self._sampler = QueueSampler(setting, pace.sample_s)
        self._next_tick = 0
        self._rounds_at_once = 0
        self._just_planned = False
        self._last_change_s = setting.origin_s
        self._last_round_s = setting.origin_s

    def run(self, on_progress: Progress | None = None) -> Outcome:
        world, jobs = self.world, len(self.setting.jobs)
        while world.finished < jobs and not self._seen_enough():
            event_s = world.next_event_s()
            round_s = self._round_s()
            if min(event_s, round_s) > self._ends_s(event_s):
                break
            if round_s < event_s:
                self._round(round_s)
            else:
                world.advance(event_s)
                self._rounds_at_once = 0
                self._just_planned = False
            if on_progress and not world.rounds % 64:
                on_progress(world.now_s, world.finished)
        if world.finished < jobs and self.pace.until_s < math.inf:
            world.now_s = max(world.now_s, self.pace.until_s)
        world.close()
        return Outcome(
            setting=self.setting,
            first_start_s=world.first_start_s,
            finished_s=world.finished_s,
            ended_s=world.now_s,
            rounds=world.rounds,
            log=world.log,
            samples=self._sampler.samples(),
        )

    def _round_s(self) -> float:
        """When the next round is held if nothing happens before; inf for not at all."""
        world, pace, policy = self.world, self.pace, self.policy
        if not world.queued and not (policy.minds_running and world.running):
            return math.inf
        if world.changed and (pace.on_events or (pace.follow_up and self._just_planned)):
            return world.now_s
        latest_s = max(self._last_round_s + pace.at_latest_s, world.now_s)
        if not world.changed and not (
            pace.unchanged == "all" or (pace.unchanged == "queued" and world.queued)
        ):
            return latest_s
        if math.isinf(pace.interval_s):
            return latest_s
        return min(self._tick_s(max(self._next_tick, self._tick_at(world.now_s))), latest_s)

    def _seen_enough(self) -> bool:
        first = self.pace.first_jobs
        if first is None or self.world.finished < first:
            return False
        return not np.isnan(self.world.finished_s[:first]).any()

    def _tick_at(self, now_s: float) -> int:
        return math.ceil((now_s - self.setting.origin_s) / self.pace.interval_s)

    def _tick_s(self, tick: int) -> float:
        return self.setting.origin_s + tick * self.pace.interval_s

    def _ends_s(self, event_s: float) -> float:
        """When to give up: jobs are left that nothing which can still happen will start."""
        if event_s < math.inf:
            return self.pace.until_s
        return min(self.pace.until_s, self._last_change_s + self.pace.patience_s)

    def _round(self, at_s: float) -> None:
        world = self.world
        self._rounds_at_once = self._rounds_at_once + 1 if at_s == world.now_s else 0
        if self._rounds_at_once > MOST_ROUNDS_AT_ONCE:
            raise BrokenPlanError(f"{MOST_ROUNDS_AT_ONCE} rounds at {at_s} s, and still changing")
        world.now_s = self._last_round_s = at_s
        if math.isfinite(self.pace.interval_s):
            self._next_tick = self._tick_at(at_s) + (self._tick_s(self._tick_at(at_s)) == at_s)
        snapshot = world.snapshot(self._prices.at(at_s), self.setting.believed_profiles)
        plan = self.policy.plan(snapshot)
        if self.pace.check_plans and (broken := check_plan(snapshot, plan)):
            raise BrokenPlanError("; ".join(violation.message for violation in broken))
        world.apply(plan)
        self._just_planned = True
        if world.changed or world.running:
            self._last_change_s = at_s
        self._sampler.take(at_s, world)
