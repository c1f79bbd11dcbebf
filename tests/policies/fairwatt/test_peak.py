"""A month's highest draw by hand: who waits below it, who is worth more, and who is left alone."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from policies.bench.power import drawn_w, watts_per_gpu
from policies.contract.invariants import check_plan
from policies.contract.plan import Plan
from policies.contract.policy import Bounding
from policies.contract.snapshot import NodeState, PriceTable, Snapshot, Span
from policies.explain.reasons import WaitReason
from policies.registry import build
from tests.policies.random_worlds import elastic_world, random_world
from tests.policies.worlds import NOW_S, Job, Node, World, profiles_of, queued, running

HOUR_S = 3600.0
# Two GPUs idle at 50 W each; one in use adds 250 W: 350 W with one, 600 W with both.
ONE_W, BOTH_W = 350.0, 600.0


def one_hour(**columns: Any) -> Job:
    return queued(1, **{"est_run_s": HOUR_S, "submitted_s": NOW_S, **columns})


def busy(**columns: Any) -> Job:
    return running((0, 1), est_run_s=HOUR_S, submitted_s=NOW_S, **columns)


def snapshot_of(*jobs: Job, peak_w: float, price: float, **more: Any) -> Snapshot:
    """Energy at 0.2 a kWh: 0.05 for an hour of a GPU."""
    snapshot = World(nodes=[Node(gpus=2)], jobs=list(jobs), **more).snapshot()
    return replace(
        snapshot,
        peak_w=peak_w,
        demand_price_per_w=price,
        prices=PriceTable.of(from_s=[NOW_S - 600], price_per_kwh=[0.2]),
    )


def plan_of(snapshot: Snapshot, **parameters: Any) -> Plan:
    given = {"power_off": False, "fairness": 0.0, "wait_price_per_h": 0.1, **parameters}
    policy = build("fairwatt", given)
    plan = policy.plan(snapshot)
    assert check_plan(snapshot, plan) == []
    assert isinstance(policy, Bounding)
    assert plan.objective is not None
    assert policy.bound(snapshot, plan.objective) <= plan.objective + 1e-9
    return plan


def started(plan: Plan) -> list[int]:
    return [start.job - 1000 for start in plan.starts]


@pytest.mark.parametrize("pue", [1.0, 1.5])
def test_a_job_waits_below_the_peak_while_that_is_cheaper(pue: float) -> None:
    """Until the other has gone it loses 0.1; at once the bill sees 250 W more, PUE included."""
    held = busy(preemptible=False)
    at = {"peak_w": ONE_W * pue}
    dear = snapshot_of(held, one_hour(), price=0.0005 / pue, **at)
    patient = plan_of(replace(dear, pue=pue))
    (wait,) = patient.iter_waits()
    assert (wait.reason, wait.until_s) == (WaitReason.TARIFF, NOW_S + HOUR_S)
    assert patient.shown["demand_charge"] == 0.0
    assert patient.objective == pytest.approx(0.05 * pue + 2 * 0.1)
    cheap = snapshot_of(held, one_hour(), price=0.0003 / pue, **at)
    hasty = plan_of(replace(cheap, pue=pue))
    assert started(hasty) == [1]
    assert hasty.shown["demand_charge"] == pytest.approx(250 * 0.0003)
    assert hasty.objective == pytest.approx(0.05 * pue + 0.1 + 250 * 0.0003)


def test_below_the_peak_nothing_is_charged() -> None:
    plan = plan_of(snapshot_of(busy(), one_hour(), peak_w=BOTH_W, price=1.0))
    assert started(plan) == [1]
    assert plan.shown["demand_charge"] == 0.0


def test_what_is_drawn_already_is_paid_for() -> None:
    """Both run now above the peak of 350 W: the 250 W are lost whatever is planned."""
    both = [busy(preemptible=False), running((0, 2), est_run_s=HOUR_S, preemptible=False)]
    plan = plan_of(snapshot_of(*both, one_hour(), peak_w=ONE_W, price=1.0))
    assert plan.shown["demand_charge"] == pytest.approx(250.0)


def test_a_rise_that_must_come_is_not_waited_for() -> None:
    """Nothing runs, nothing was drawn: no time ahead has room below the peak."""
    snapshot = snapshot_of(one_hour(), peak_w=0.0, price=100.0)
    plan = plan_of(snapshot, max_shift_s=30 * 86_400.0)
    assert started(plan) == [0]
    assert plan.shown["demand_charge"] == pytest.approx(ONE_W * 100.0)


@pytest.mark.parametrize(("age_s", "expected"), [(86_399.0, []), (86_400.0, [1])])
def test_nobody_is_kept_below_the_peak_for_more_than_a_day(
    age_s: float, expected: list[int]
) -> None:
    job = one_hour(submitted_s=NOW_S - age_s)
    held = busy(preemptible=False)
    assert started(plan_of(snapshot_of(held, job, peak_w=ONE_W, price=1.0))) == expected


@pytest.mark.parametrize(("per_h", "expected"), [(0.1, []), (0.2, [1])])
def test_lateness_is_weighed_against_the_peak(per_h: float, expected: list[int]) -> None:
    """An hour of it and of waiting, at 0.1, against 250 W at 0.001 each."""
    job = one_hour(deadline_s=NOW_S + HOUR_S, tardiness_weight=per_h / HOUR_S)
    held = busy(preemptible=False)
    assert started(plan_of(snapshot_of(held, job, peak_w=ONE_W, price=0.001))) == expected


def test_work_that_runs_is_not_stopped_for_the_peak() -> None:
    """The queued job loses a hundred times as much by waiting, and has no place without rise."""
    jobs = [busy(checkpoint_s=NOW_S), one_hour(tenant=1)]
    more = {"quotas": [-1, -1], "weights": [1.0, 100.0]}
    plan = plan_of(snapshot_of(*jobs, peak_w=ONE_W, price=10.0, **more), min_run_s=0.0)
    assert (plan.preempts, plan.moves, plan.resizes, plan.starts) == ((), (), (), ())


PROFILES = profiles_of([[[1.0], [1.9]]], [[[300.0]] * 2], counts=(1, 2), clocks=(1000,))


def elastic() -> Job:
    job = queued(1, profile=0, work_left=HOUR_S, submitted_s=NOW_S)
    job.max_gpus = 2
    return job


@pytest.mark.parametrize(("peak_w", "gpus"), [(BOTH_W, 2), (BOTH_W - 1, 1)])
def test_an_elastic_job_grows_up_to_the_peak(peak_w: float, gpus: int) -> None:
    snapshot = snapshot_of(elastic(), peak_w=peak_w, price=1.0, profiles=PROFILES)
    (start,) = plan_of(snapshot, wait_price_per_h=1.0).starts
    assert start.pieces[0].gpus.bit_count() == gpus


def test_elastic_jobs_share_the_watts_below_the_peak() -> None:
    """Four GPUs are free, and 500 W for two of them."""
    world = World(nodes=[Node(gpus=4)], jobs=[elastic(), elastic()], profiles=PROFILES)
    snapshot = replace(world.snapshot(), peak_w=200.0 + 500.0, demand_price_per_w=1.0)
    plan = plan_of(snapshot, wait_price_per_h=1.0)
    assert [start.pieces[0].gpus.bit_count() for start in plan.starts] == [1, 1]


@pytest.mark.parametrize(
    ("room_w", "age_s", "expected"), [(499.0, 0, []), (501.0, 0, [2]), (499.0, 86_400, [2])]
)
def test_a_start_that_was_not_planned_keeps_below_the_peak(
    room_w: float, age_s: float, expected: list[int]
) -> None:
    """Planned on two frugal GPUs for 100 W, which are on two nodes; elsewhere they add 500 W.

    That keeps nobody beyond a day.
    """
    nodes = [Node(gpus=2), Node(gpus=2), Node(gpus=2, gpu_type=1)]
    jobs = [running((node, 1), est_run_s=HOUR_S, preemptible=False) for node in (0, 1)]
    whole = queued(2, est_run_s=HOUR_S, submitted_s=NOW_S - age_s, span=Span.NODE)
    snapshot = World(nodes=nodes, jobs=[*jobs, whole], gpu_types=("L4", "H100")).snapshot()
    kinds = replace(snapshot.gpu_types, max_w=np.array([100.0, 300.0]))
    snapshot = replace(snapshot, gpu_types=kinds, demand_price_per_w=1.0)
    patient = {"patience_s": 2 * 86_400}
    plan = plan_of(replace(snapshot, peak_w=drawn_of(snapshot) + room_w), **patient)
    assert plan.shown["demand_charge"] == 0.0
    assert started(plan) == expected


def test_the_idle_watts_of_a_node_that_must_be_woken_count() -> None:
    """400 W and two idle GPUs on top of the 250 W: 500 W above the peak, for an hour's 0.1."""
    nodes = [Node(gpus=1), Node(gpus=2, state=NodeState.OFF, host_idle_w=400, host_peak_w=400)]
    world = World(nodes=nodes, jobs=[busy(preemptible=False), one_hour()], power_off=True)
    priced = replace(world.snapshot(), peak_w=300.0 + 250.0, demand_price_per_w=0.001)
    below = plan_of(priced, power_off=True)
    assert (below.power, below.shown["demand_charge"]) == ((), 0.0)
    for worth in (replace(priced, peak_w=1050.0), replace(priced, demand_price_per_w=0.0001)):
        woken = plan_of(worth, power_off=True)
        assert [entry.on for entry in woken.power] == [True]
    assert woken.shown["demand_charge"] == pytest.approx(500 * 0.0001)


def test_plans_without_a_charge_are_those_of_always() -> None:
    for seed in range(5):
        snapshot = elastic_world(seed, nodes=4, queue=8, run=4).snapshot()
        plain, peaked = (plan_of(one) for one in (snapshot, replace(snapshot, peak_w=5000.0)))
        assert plain.starts == peaked.starts
        assert plain.objective == peaked.objective
        assert plain.shown == peaked.shown == {"planned_cost": plain.objective}


@pytest.mark.slow
@pytest.mark.parametrize("world_of", [random_world, elastic_world])
def test_who_pays_nothing_raises_nothing(world_of: Callable[..., World]) -> None:
    """What is left of the watts after the entries of random plans, all jobs young."""
    capped = 0
    for seed in range(40):
        snapshot = world_of(seed, nodes=4, queue=8, run=5).snapshot()
        jobs = replace(
            snapshot.jobs,
            submitted_s=np.full(len(snapshot.jobs), NOW_S),
            deadline_s=np.full(len(snapshot.jobs), np.inf),
        )
        now_w = drawn_of(snapshot)
        peaked = replace(snapshot, jobs=jobs, peak_w=1.3 * now_w, demand_price_per_w=10.0)
        plan = plan_of(peaked, preempt=False, resize=False)
        if plan.shown["demand_charge"] == 0:
            capped += bool(plan.starts)
            bounded = replace(peaked, power_budget_w=min(peaked.power_budget_w, 1.3 * now_w + 1))
            assert check_plan(bounded, plan) == []
    assert capped > 3


def drawn_of(snapshot: Snapshot) -> float:
    return float(drawn_w(snapshot, watts_per_gpu(snapshot)).sum())
