"""The worked example of docs/add-a-policy.md is a policy: its plans keep every rule."""

import re
from pathlib import Path
from typing import Any

import pytest

from policies.contract.invariants import check_plan
from policies.contract.plan import Plan
from policies.contract.policy import Policy
from tests.policies.random_worlds import elastic_world, random_world, sensitive_world
from tests.policies.test_powerflow_greedy import PEAKED_JOB, PERFECT_JOB, at, elastic, world
from tests.policies.worlds import Node, World

PAGE = Path(__file__).parent.parent.parent / "docs/add-a-policy.md"


@pytest.fixture(scope="module")
def policy() -> Policy:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), names)  # the page is ours
    row = names["POLICIES"]["doubling"]
    made: Policy = row.factory(row.parameters(min_run_s=0.0))
    return made


def given_out(plan: Plan) -> dict[int, int]:
    """GPUs by job row."""
    return {
        act.job - 1000: sum(piece.gpus.bit_count() for piece in act.pieces)
        for act in (*plan.starts, *plan.resizes)
    }


@pytest.mark.parametrize("make", [random_world, elastic_world, sensitive_world])
@pytest.mark.parametrize("seed", range(12))
def test_its_plans_keep_every_rule(policy: Policy, make: Any, seed: int) -> None:
    given: World = make(seed, nodes=6, queue=10, run=8)
    for _ in range(3):
        snapshot = given.snapshot()
        plan = policy.plan(snapshot)
        assert check_plan(snapshot, plan) == []
        assert policy.plan(snapshot).canonical() == plan.canonical()
        given = given.after(plan)


def test_everybody_starts_before_anybody_grows(policy: Policy) -> None:
    """Eight GPUs: the queue takes two, and the job that runs on two has four."""
    jobs = [at(PERFECT_JOB, (0, 0b11)), elastic(PERFECT_JOB), elastic(PERFECT_JOB)]
    plan = policy.plan(world([Node(gpus=8)], jobs).snapshot())
    assert given_out(plan) == {1: 1, 2: 1, 0: 4}


def test_nobody_grows_past_its_peak_or_its_most(policy: Policy) -> None:
    """Two GPUs of the peaked job are faster than four."""
    jobs = [at(PEAKED_JOB, (0, 0b11)), at(PERFECT_JOB, (1, 0b11), most=2)]
    plan = policy.plan(world([Node(gpus=8), Node(gpus=8)], jobs).snapshot())
    assert given_out(plan) == {}
