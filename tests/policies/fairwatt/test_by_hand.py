"""Small cases with their money worked out by hand: hours, order, counts, clocks and stopping."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from policies.contract.invariants import check_plan
from policies.contract.plan import Plan
from policies.contract.snapshot import PriceTable, Snapshot
from policies.explain.reasons import WaitReason
from policies.registry import build
from tests.policies.worlds import NOW_S, Job, Node, World, profiles_of, queued, running

HOUR_S = 3600.0
# A GPU in use draws 300 W, 50 W of them anyway: 0.25 kWh for an hour of one.
CHEAP_NEXT_HOUR = ((-600.0, 0.40), (HOUR_S, 0.10))


def told(*prices: tuple[float, float]) -> PriceTable:
    return PriceTable.of(
        from_s=[NOW_S + at for at, _ in prices], price_per_kwh=[price for _, price in prices]
    )


def one_hour(**columns: Any) -> Job:
    return queued(1, **{"est_run_s": HOUR_S, "submitted_s": NOW_S, **columns})


def snapshot_of(
    *jobs: Job, prices: tuple[tuple[float, float], ...] = (), gpus: int = 1, **world: Any
) -> Snapshot:
    snapshot = World(nodes=[Node(gpus=gpus)], jobs=list(jobs), **world).snapshot()
    return replace(snapshot, prices=told(*prices) if prices else PriceTable.unknown())


def plan_of(snapshot: Snapshot, **parameters: Any) -> Plan:
    """Nodes stay on unless a test says otherwise, so that only what a job adds costs money."""
    plan = build("fairwatt", {"power_off": False, **parameters}).plan(snapshot)
    assert check_plan(snapshot, plan) == []
    return plan


def started(plan: Plan) -> list[int]:
    return [start.job - 1000 for start in plan.starts]


def test_a_job_waits_for_the_cheap_hour_while_that_pays() -> None:
    """Later saves 0.25 kWh x 0.30 = 0.075; the hour until then costs the price of waiting."""
    snapshot = snapshot_of(one_hour(), prices=CHEAP_NEXT_HOUR)
    patient = plan_of(snapshot, wait_price_per_h=0.07)
    (wait,) = patient.iter_waits()
    assert (wait.reason, wait.until_s) == (WaitReason.TARIFF, NOW_S + HOUR_S)
    assert patient.objective == pytest.approx(0.25 * 0.10 + 2 * 0.07)
    hasty = plan_of(snapshot, wait_price_per_h=0.08)
    assert started(hasty) == [0]
    assert hasty.objective == pytest.approx(0.25 * 0.40 + 0.08)
    (expected,) = hasty.expected
    assert expected.run_s == HOUR_S
    assert expected.marginal_energy_cost == pytest.approx(0.10)
    assert expected.full_energy_cost == pytest.approx(0.12)


def test_a_price_of_carbon_moves_work_like_one_of_energy() -> None:
    """0.4 kg less for each of 0.25 kWh: at 1 a kg that is 0.1, more than the hour's 0.08."""
    snapshot = snapshot_of(one_hour())
    carbon = PriceTable.of(
        from_s=[NOW_S - 600, NOW_S + HOUR_S],
        price_per_kwh=[0.2, 0.2],
        carbon_g_per_kwh=[500.0, 100.0],
    )
    snapshot = replace(snapshot, prices=carbon)
    assert started(plan_of(snapshot, wait_price_per_h=0.08)) == [0]
    assert started(plan_of(snapshot, wait_price_per_h=0.08, carbon_price_per_kg=1.0)) == []


@pytest.mark.parametrize("latest_s", [HOUR_S + 1, HOUR_S - 1, 100.0, -1.0])
@pytest.mark.parametrize("due", [True, False])
def test_nobody_is_kept_beyond_its_latest_start(latest_s: float, due: bool) -> None:
    """Half as long again as it runs must be left until a due date; others wait a day at most."""
    by_due, by_age = NOW_S + latest_s + 1.5 * HOUR_S, NOW_S + latest_s - 86_400
    job = one_hour(deadline_s=by_due) if due else one_hour(submitted_s=by_age)
    plan = plan_of(snapshot_of(job, prices=CHEAP_NEXT_HOUR), wait_price_per_h=0.0)
    until_s = [wait.until_s for wait in plan.iter_waits()]
    if latest_s < 0:
        assert started(plan) == [0]
    elif latest_s > HOUR_S:
        assert until_s == [NOW_S + HOUR_S]
    else:
        assert until_s[0] is not None
        assert until_s[0] <= NOW_S + latest_s


@pytest.mark.parametrize(
    "prices",
    [
        (),
        ((-600.0, 0.40),),
        ((-600.0, 0.40), (HOUR_S, np.nan), (2 * HOUR_S, 0.01)),
        ((-600.0, 0.40), (HOUR_S, 0.80)),
    ],
    ids=["no prices", "one price", "unknown hour", "dearer"],
)
def test_without_a_known_cheaper_hour_a_job_runs_now(
    prices: tuple[tuple[float, float], ...],
) -> None:
    assert started(plan_of(snapshot_of(one_hour(), prices=prices), wait_price_per_h=0.0)) == [0]


def test_of_two_jobs_for_one_gpu_the_shorter_goes_first() -> None:
    plan = plan_of(snapshot_of(one_hour(), one_hour(est_run_s=600.0)))
    assert started(plan) == [1]
    (wait,) = plan.iter_waits()
    assert wait.until_s is not None
    assert NOW_S + 600 <= wait.until_s < NOW_S + 800


def test_a_weighty_tenant_or_a_due_date_turns_the_order() -> None:
    """An hour at weight 10 loses 10/3600 by the second and GPU-second, ten minutes 1/600."""
    weighty = snapshot_of(
        one_hour(tenant=1), one_hour(est_run_s=600.0), quotas=[-1, -1], weights=[1.0, 10.0]
    )
    assert started(plan_of(weighty, fairness=0.0)) == [0]
    due = snapshot_of(
        one_hour(deadline_s=NOW_S + HOUR_S, tardiness_weight=0.01), one_hour(est_run_s=600.0)
    )
    assert started(plan_of(due)) == [0]


@pytest.mark.parametrize(
    ("wait_price", "most", "gpus", "clock_mhz"),
    [(0.0, 2, 1, 500), (0.01, 2, 2, 500), (0.2, 2, 2, 1000), (0.2, 1, 1, 1000)],
)
def test_the_dial_chooses_count_and_clock(
    wait_price: float, most: int, gpus: int, clock_mhz: int
) -> None:
    """At 0.2 a kWh: 2 h for 0.02, 1.25 h on two for 0.025, 1 h for 0.05, 0.625 h for 0.0625."""
    job = queued(1, profile=0, work_left=7200.0, submitted_s=NOW_S)
    job.max_gpus = most
    rate, watts = [[[1.0, 2.0], [1.6, 3.2]]], [[[100.0, 300.0], [100.0, 300.0]]]
    profiles = profiles_of(rate, watts, counts=(1, 2), clocks=(500, 1000))
    snapshot = snapshot_of(job, gpus=2, profiles=profiles)
    plan = plan_of(snapshot, wait_price_per_h=wait_price, assumed_price_per_kwh=0.2)
    (start,) = plan.starts
    assert (start.pieces[0].gpus.bit_count(), start.clock_mhz) == (gpus, clock_mhz)


def test_running_work_is_not_stopped_for_a_cheaper_hour() -> None:
    snapshot = snapshot_of(running((0, 1), est_run_s=HOUR_S), prices=CHEAP_NEXT_HOUR)
    plan = plan_of(snapshot, wait_price_per_h=0.0)
    assert (*plan.preempts, *plan.moves, *plan.resizes, *plan.clocks) == ()


def stopping(restart_cost_s: float, *, hands_over: bool = False, **parameters: Any) -> Plan:
    """A day's work runs; an hour's waits that loses 1 an hour by waiting, against 0.1."""
    day = running((0, 1), est_run_s=86_400.0, checkpoint_s=NOW_S, restart_cost_s=restart_cost_s)
    day.submitted_s = NOW_S
    snapshot = snapshot_of(day, one_hour(tenant=1), quotas=[-1, -1], weights=[1.0, 10.0])
    return plan_of(replace(snapshot, hands_over=hands_over), fairness=0.0, **parameters)


def test_work_is_stopped_for_work_that_is_worth_its_restart() -> None:
    plan = stopping(60.0)
    assert [(one.job, one.for_job, one.lost_gpu_s) for one in plan.preempts] == [(1000, 1001, 60.0)]
    (wait,) = plan.iter_waits()
    assert wait.reason is WaitReason.PREEMPTED_WORK
    at_once = stopping(60.0, hands_over=True)
    assert (len(at_once.preempts), started(at_once)) == (1, [1])


@pytest.mark.parametrize(
    ("restart_cost_s", "parameters"),
    [(60.0, {"preempt": False}), (60.0, {"max_preemptions": 0}), (1e6, {})],
)
def test_work_is_left_alone_where_stopping_is_forbidden_or_dear(
    restart_cost_s: float, parameters: dict[str, Any]
) -> None:
    assert stopping(restart_cost_s, **parameters).preempts == ()
