"""Where nobody has a choice the order of urgency is the plan, and no search is spent on it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from policies.contract.snapshot import PriceTable, Snapshot
from policies.fairwatt.bound import Rents
from policies.fairwatt.parameters import FairwattParameters
from policies.fairwatt.problem import FairwattProblem, problem_of
from policies.fairwatt.search import Budget, SlotSchedule, search
from tests.policies.worlds import NOW_S, Job, Node, World, profiles_of, queued, running

HOUR_S = 3600.0


def snapshot_of(*jobs: Job, **world: Any) -> Snapshot:
    return World(nodes=[Node(gpus=2)], jobs=list(jobs), **world).snapshot()


def problem(snapshot: Snapshot, **given: Any) -> FairwattProblem:
    return problem_of(snapshot, FairwattParameters(min_run_s=0, fairness=0.0, **given))


def searched(given: FairwattProblem, monkeypatch: pytest.MonkeyPatch) -> tuple[SlotSchedule, int]:
    """The schedule, and how often the rents were changed for it."""
    steps = 0
    step = Rents.step

    def counted(self: Rents, upper: float) -> bool:
        nonlocal steps
        steps += 1
        return step(self, upper)

    monkeypatch.setattr(Rents, "step", counted)
    return search(given, Budget(12, 24, 20_000), preempt=True), steps


PLAIN = (queued(1, est_run_s=HOUR_S), queued(1, est_run_s=600.0), queued(1, est_run_s=1200.0))


def test_the_shortest_go_first_and_no_rents_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    given = problem(snapshot_of(*PLAIN))
    assert given.only_order()
    schedule, steps = searched(given, monkeypatch)
    assert (schedule.order.tolist(), steps) == ([1, 2, 0], 0)
    assert schedule.made.slot[[1, 2]].tolist() == [0, 0]


def elastic() -> Snapshot:
    table = profiles_of([[[1.0], [1.6]]], [[[300.0], [300.0]]], counts=(1, 2), clocks=(1000,))
    job = queued(1, profile=0, work_left=7200.0)
    job.max_gpus = 2
    return snapshot_of(job, *PLAIN, profiles=table)


def cheaper_later() -> Snapshot:
    prices = PriceTable.of(from_s=[NOW_S - 600, NOW_S + HOUR_S], price_per_kwh=[0.2, 0.1])
    return replace(snapshot_of(*PLAIN), prices=prices)


def two_types() -> Snapshot:
    world = World([Node(gpus=2), Node(gpus=2, gpu_type=1)], list(PLAIN), gpu_types=("A", "B"))
    return world.snapshot()


def due() -> Snapshot:
    late = queued(1, est_run_s=HOUR_S, deadline_s=NOW_S + HOUR_S, tardiness_weight=0.01)
    return snapshot_of(late, *PLAIN)


@pytest.mark.parametrize("snapshot", [elastic(), cheaper_later(), two_types(), due()])
def test_a_choice_of_any_kind_is_searched(
    snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = problem(snapshot)
    assert not given.only_order()
    assert searched(given, monkeypatch)[1] > 0


@pytest.mark.parametrize(("restart_cost_s", "free"), [(0.0, True), (60.0, False)])
def test_what_runs_is_protected_by_what_its_stop_would_lose(
    restart_cost_s: float, free: bool
) -> None:
    facts = {"checkpoint_s": NOW_S, "restart_cost_s": restart_cost_s}
    long = [running((0, mask), est_run_s=86_400.0, **facts) for mask in (1, 2)]
    given = problem(snapshot_of(*long, queued(1, est_run_s=600.0)))
    assert (given.only_order(), given.stops_freely()) == (True, free)
    schedule = search(given, Budget(12, 24, 20_000), preempt=True)
    assert schedule.made.slot[2] == 0
    held = search(given, Budget(12, 24, 20_000), preempt=False)
    assert held.reserve
    assert np.array_equal(held.made.slot[:2], [0, 0])
