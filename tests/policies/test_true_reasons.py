"""What a wait claims is replayed: without its cause it is gone, and each remedy helps."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from policies.contract.plan import Plan, Wait
from policies.contract.policy import Policy
from policies.contract.snapshot import PriceTable, Snapshot
from policies.explain.reasons import REMEDY_ACTIONS, WaitReason
from policies.registry import build, policy_names
from tests.examples import each_seed
from tests.policies.counterfactuals import REMEDIED, remedied, without_cause
from tests.policies.random_worlds import elastic_world, random_world
from tests.policies.worlds import NOW_S

QUICK: dict[str, dict[str, Any]] = {"andreas": {"iterations": 20}}
# These plan everybody anew for every change, or keep promises to others: a job that has room, or
# watts, may be left for better ones.
WEIGH_SCHEDULES = {
    *("afs", "andreas", "fairwatt", "powerflow"),
    *("fifo-backfill", "conservative-backfill"),
}
HOUR_S = 3600.0


def priced(seed: int) -> Snapshot:
    """A world of dear and cheap hours."""
    make = elastic_world if seed % 2 else random_world
    snapshot = make(seed, nodes=6, queue=10, run=10).snapshot()
    rng = np.random.default_rng(seed)
    hours_s = NOW_S // HOUR_S * HOUR_S + np.arange(48) * HOUR_S
    prices = PriceTable.of(from_s=hours_s, price_per_kwh=rng.uniform(0.01, 0.6, 48))
    return replace(snapshot, prices=prices)


def reason_in(policy: Policy, snapshot: Snapshot, job: int) -> WaitReason | None:
    """Why the job waits; None where it starts."""
    wait = policy.plan(snapshot).wait_of(job)
    return None if wait is None else wait.reason


def some_of(plan: Plan, seed: int) -> list[Wait]:
    """Two waits of every reason."""
    waits = list(plan.iter_waits())
    np.random.default_rng(seed).shuffle(waits)
    return [one for reason in WaitReason for one in [w for w in waits if w.reason == reason][:2]]


@pytest.mark.slow
@pytest.mark.parametrize("name", policy_names())
@each_seed(40)
def test_what_a_wait_claims_is_true(name: str, seed: int) -> None:
    snapshot, policy = priced(seed), build(name, QUICK.get(name, {}))
    for wait in some_of(policy.plan(snapshot), seed):
        without = without_cause(snapshot, wait)
        if without is not None:
            reason = reason_in(policy, without, wait.job)
            assert reason != wait.reason
            assert wait.reason is not WaitReason.TARIFF or reason is None
        if name in WEIGH_SCHEDULES and wait.reason in {WaitReason.OUTRANKED, WaitReason.POWER}:
            continue
        for remedy in wait.evidence.remedies:
            helped = remedied(snapshot, wait.job, remedy)
            assert reason_in(policy, helped, wait.job) != wait.reason, remedy


def test_every_remedy_can_be_tried() -> None:
    assert REMEDIED.keys() == REMEDY_ACTIONS
