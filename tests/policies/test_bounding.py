"""What a bound says about a plan, and who has one."""

import math
from dataclasses import replace

import numpy as np
import pytest

from policies.contract.policy import Bounding, gap
from policies.contract.snapshot import PriceTable
from policies.fairwatt.bound import EVALUATIONS, ITERATIONS, steps
from policies.registry import build, policy_names
from tests.policies.random_worlds import elastic_world
from tests.policies.worlds import NOW_S, Node, World, queued


@pytest.mark.parametrize(
    ("objective", "bound", "expected"),
    [(10.0, 8.0, 0.2), (10.0, 10.0, 0.0), (0.0, 0.0, 0.0), (10.0, -5.0, 1.5), (-10.0, -12.0, 0.2)],
)
def test_the_gap_is_what_might_be_saved_of_the_objective(
    objective: float, bound: float, expected: float
) -> None:
    """Energy may have a negative price, and so may a plan: its size is what counts."""
    assert gap(objective, bound) == pytest.approx(expected)


@pytest.mark.parametrize(("objective", "bound"), [(10.0, 10.1), (-10.0, -9.9), (0.0, 1.0)])
def test_a_bound_above_the_objective_is_no_bound(objective: float, bound: float) -> None:
    with pytest.raises(ValueError, match="above the objective"):
        gap(objective, bound)


def test_sums_in_another_order_are_no_fault() -> None:
    assert gap(10.0, 10.0 + 1e-9) == 0.0


def test_fairwatt_knows_a_bound_and_first_come_first_served_none() -> None:
    assert "fairwatt" in {name for name in policy_names() if isinstance(build(name, {}), Bounding)}
    assert not isinstance(build("fifo", {}), Bounding)


def test_a_long_queue_gets_fewer_steps_but_never_none() -> None:
    assert steps(0) == steps(100) == ITERATIONS
    assert steps(12_500) * 12_500 <= EVALUATIONS
    assert steps(10**9) == 1


def test_two_jobs_for_one_gpu_have_the_gap_worked_out_by_hand() -> None:
    """30 s each; the second is planned from the first slot's end, 60 s, on.

    Both draw 0.25 kW above idle for 30 s at 0.15 a kWh, and a second until their ends costs 0.1 /
    3600. The bound holds what starts within a slot to be there from its beginning: 30 s for both.
    """
    jobs = [queued(1, est_run_s=30.0, submitted_s=NOW_S) for _ in range(2)]
    snapshot = World(nodes=[Node(gpus=1)], jobs=jobs).snapshot()
    given = {"assumed_price_per_kwh": 0.15, "wait_price_per_h": 0.1, "power_off": False}
    policy = build("fairwatt", given)
    assert isinstance(policy, Bounding)
    energy, second = 0.25 * 30 / 3600 * 0.15, 0.1 / 3600
    objective = policy.plan(snapshot).objective
    bound = policy.bound(snapshot, objective)
    assert objective == pytest.approx(2 * energy + (30 + 90) * second)
    assert bound == pytest.approx(2 * energy + (30 + 30) * second)
    assert gap(objective, bound) == pytest.approx(0.4210526)


@pytest.mark.parametrize("seed", range(24))
def test_every_round_of_fairwatt_has_a_gap(seed: int) -> None:
    """Whatever is asked of it and whatever energy costs, also less than nothing."""
    snapshot = elastic_world(seed, nodes=8, queue=8, run=8).snapshot()
    rng = np.random.default_rng([seed, 3])
    hourly = PriceTable.of(
        from_s=NOW_S - 600 + 3600.0 * np.arange(24), price_per_kwh=rng.normal(0.1, 0.2, 24)
    )
    snapshot = replace(snapshot, prices=hourly)
    dial = {"wait_price_per_h": float(rng.choice([0.0, 0.1, 5.0])), "min_run_s": 0.0}
    policy = build("fairwatt", {**dial, "preempt": bool(seed % 2), "resize": bool(seed % 3)})
    assert isinstance(policy, Bounding)
    objective = policy.plan(snapshot).objective
    bound = policy.bound(snapshot, objective)
    assert math.isfinite(bound)
    assert gap(objective, bound) >= 0
    assert bound == policy.bound(snapshot, objective)


def test_a_round_without_jobs_has_no_money_in_it() -> None:
    snapshot = World(nodes=[Node(gpus=1)], jobs=[]).snapshot()
    policy = build("fairwatt", {})
    assert isinstance(policy, Bounding)
    bound = policy.bound(snapshot, 0.0)
    assert math.isfinite(bound)
    assert gap(0.0, bound) == 0.0
