"""A watched policy plans what it would plan unwatched, and its gaps are kept."""

import numpy as np
import pytest

from policies.contract.plan import Plan
from policies.contract.snapshot import Snapshot
from policies.registry import build
from simulator.gap_watch import GapWatch
from tests.simulator.scripted import jobs_of, outcome_of, setting_of

JOBS = [(60.0 * row, 1800.0 + 600.0 * (row % 5), 1 + row % 4) for row in range(20)]


class Halved:
    """Says what its plans are worth, and that half of it might have been saved."""

    work_conserving = minds_running = True

    def __init__(self, *objectives: float) -> None:
        self.objectives = list(objectives)

    def plan(self, snapshot: Snapshot) -> Plan:
        return Plan(objective=self.objectives.pop(0))

    def bound(self, snapshot: Snapshot, objective: float) -> float:
        return objective / 2


def looked(watch: GapWatch, rounds: int) -> list[float]:
    snapshot: Snapshot = None  # type: ignore[assignment]  # nobody looks at it here
    for _ in range(rounds):
        watch.plan(snapshot)
    return watch.gaps


@pytest.mark.parametrize(("every", "count"), [(1, 6), (2, 3), (4, 1), (7, 0)])
def test_every_so_many_rounds_leave_a_gap(every: int, count: int) -> None:
    assert looked(GapWatch(Halved(*[4.0] * 6), every), 6) == [0.5] * count


def test_a_round_in_which_nothing_was_at_stake_does_not_count() -> None:
    assert looked(GapWatch(Halved(0.0, 4.0), 1), 2) == [0.5]


def test_a_policy_without_a_bound_leaves_no_gap() -> None:
    watch = GapWatch(build("fifo", {}), every=1)
    outcome_of(setting_of(jobs_of(*JOBS)), watch)
    assert watch.gaps == []
    assert watch.work_conserving == build("fifo", {}).work_conserving


def test_a_watched_run_is_the_same_run() -> None:
    setting = setting_of(jobs_of(*JOBS))
    watch = GapWatch(build("fairwatt", {}), every=3)
    seen, alone = outcome_of(setting, watch), outcome_of(setting, build("fairwatt", {}))
    assert np.array_equal(seen.finished_s, alone.finished_s)
    assert len(watch.gaps) == seen.rounds // 3
    assert all(0 <= one < 1 for one in watch.gaps)
    assert max(watch.gaps) > 0
