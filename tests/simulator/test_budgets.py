"""Budgets that change: watts by the hour, joules by the period, as the policies see them."""

import dataclasses
import math

import pytest

from policies.contract.plan import Piece, Plan, PowerNode, Start
from policies.contract.snapshot import Snapshot
from simulator.budgets import Allowance, Purse
from simulator.engine import Engine, Pace
from tests.simulator.scripted import jobs_of, setting_of

BY_HOUR = tuple(1000.0 + hour for hour in range(24))


class Watching:
    work_conserving = False
    minds_running = True

    def __init__(self, *plans: Plan) -> None:
        self.plans = list(plans)
        self.seen: list[Snapshot] = []

    def plan(self, snapshot: Snapshot) -> Plan:
        self.seen.append(snapshot)
        return self.plans.pop(0) if self.plans else Plan()


def watched(allowance: Allowance, *plans: Plan) -> list[Snapshot]:
    setting = dataclasses.replace(
        setting_of(jobs_of((0, 10_000, 1))), allowance=allowance, power_budget_w=1001.5, pue=2.0
    )
    policy = Watching(*plans)
    Engine(setting, policy, Pace(interval_s=1800, on_events=False, until_s=9_000)).run()
    return policy.seen


def test_the_budget_of_the_hour_holds_unless_the_constant_one_is_tighter() -> None:
    seen = watched(Allowance(by_hour_w=BY_HOUR))
    assert [round(one.now_s / 3600, 1) for one in seen] == [0, 0.5, 1, 1.5, 2, 2.5]
    assert [one.power_budget_w for one in seen] == [1000, 1000, 1001, 1001, 1001.5, 1001.5]
    assert {one.energy_left_j for one in seen} == {math.inf}


def test_joules_are_counted_with_idle_nodes_and_pue_until_the_period_is_over() -> None:
    """Two nodes idle at 180 W; a job adds 280 W, or what its GPU type says; one node goes off."""
    start = Plan(starts=(Start(0, (Piece(0, 1, 0, 0),)),))
    off = Plan(power=(PowerNode(1, on=False),))
    seen = watched(Allowance(period_j=1e7, period_s=5400), start, off)
    used = [1e7 - one.energy_left_j for one in seen]
    job_w = seen[0].gpu_types.max_w[0] - 20 + 20
    first = 2.0 * 1800 * (2 * 180 + job_w)
    second = 2.0 * 1800 * (180 + job_w)
    assert used[:3] == pytest.approx([0.0, first, first + second])
    assert [one.energy_until_s for one in seen[:4]] == [5400, 5400, 5400, 10_800]
    assert used[3:5] == pytest.approx([0.0, second])


def test_a_day_has_24_hours_and_joules_a_period() -> None:
    with pytest.raises(ValueError, match="24 hours"):
        Allowance(by_hour_w=(1.0,))
    with pytest.raises(ValueError, match="period"):
        Allowance(period_j=1.0)
    assert Purse(Allowance(), 0.0).left(5.0, 1e9) == (math.inf, math.inf)
