"""The compiled kernel and its plain twin agree; no schedule is cheaper than the bound."""

import subprocess
import sys

import numpy as np
import pytest

from policies.fairwatt import kernel
from policies.fairwatt.bound import lower_bound
from policies.fairwatt.parameters import FairwattParameters
from policies.fairwatt.problem import FairwattProblem, problem_of
from policies.fairwatt.search import Budget, search
from tests.policies.random_worlds import elastic_world
from tests.policies.worlds import NOW_S, Node, World, queued

SHORT = Budget(iterations=2, promotions=3, evaluations=10_000)


def problem(seed: int, size: int = 8) -> FairwattProblem:
    world = elastic_world(seed, nodes=size, queue=size, run=size)
    return problem_of(world.snapshot(), FairwattParameters(min_run_s=0.0))


@pytest.mark.parametrize("seed", range(4))
def test_kernel_and_twin_agree(seed: int) -> None:
    found = problem(seed, size=4)
    ours = search(found, SHORT, preempt=True)
    theirs = search(found, SHORT, preempt=True, kernel=kernel)
    assert ours.total == theirs.total
    assert ours.order.tolist() == theirs.order.tolist()
    for one, other in zip(ours.made, theirs.made, strict=True):
        assert one.tolist() == other.tolist()
    bounds = [lower_bound(found, ours.total, iterations=3, kernel=k) for k in (None, kernel)]
    assert bounds[0] == bounds[1]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("preempt", [True, False])
def test_no_schedule_is_cheaper_than_the_bound(seed: int, preempt: bool) -> None:
    found = problem(seed)
    schedule = search(found, SHORT, preempt=preempt)
    assert lower_bound(found, schedule.total) <= schedule.total * (1 + 1e-9)
    assert schedule.total == pytest.approx(schedule.made.cost.sum())


def test_the_bound_is_met_where_nobody_is_in_the_way() -> None:
    world = World(
        nodes=[Node(gpus=4)],
        jobs=[queued(2, est_run_s=600.0, submitted_s=NOW_S) for _ in range(2)],
    )
    found = problem_of(world.snapshot(), FairwattParameters())
    schedule = search(found, SHORT, preempt=True)
    assert lower_bound(found, schedule.total) == pytest.approx(schedule.total)


@pytest.mark.parametrize("seed", range(12))
def test_a_schedule_holds_no_more_than_there_is(seed: int) -> None:
    """GPUs by pool and slot, summed anew from the ways and slots that were chosen."""
    found = problem(seed)
    made, ahead, ways = search(found, SHORT, preempt=True).made, found.ahead, found.ways
    held = np.zeros(ahead.free.shape, np.int64)
    for way, slot in zip(made.chosen.tolist(), made.slot.tolist(), strict=True):
        if slot < len(ahead.power):
            finish_s = ahead.edges_s[slot] + ways.run_s[way]
            until = int(np.searchsorted(ahead.edges_s[:-1], finish_s))
            held[ways.pool[way], slot:until] += ways.gpus[way]
    assert (held <= ahead.free).all()


@pytest.mark.process
def test_numba_is_read_only_by_who_plans() -> None:
    code = (
        "import sys, policies.registry as r; r.build('fairwatt', {}); print('numba' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "False"
