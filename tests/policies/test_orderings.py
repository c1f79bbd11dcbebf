"""Orderings against numbers worked out by hand."""

import numpy as np
import pytest

from policies.bench import orderings
from policies.bench.roster import lost_s
from policies.bench.victims.table import Victims
from policies.contract.snapshot import Snapshot
from policies.registry import build
from tests.policies.worlds import NOW_S, Job, Node, World, queued, running


def snapshot_of(*jobs: Job, **world: object) -> Snapshot:
    return World(nodes=[Node(gpus=8)], jobs=list(jobs), **world).snapshot()  # type: ignore[arg-type]


def remaining(snapshot: Snapshot) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.where(np.isnan(snapshot.jobs.est_run_s), np.inf, snapshot.jobs.est_run_s)


def test_fifo_is_the_time_of_submission() -> None:
    snapshot = snapshot_of(queued(submitted_s=20.0), queued(submitted_s=10.0))
    assert orderings.fifo(snapshot, remaining(snapshot)).tolist() == [20.0, 10.0]


def test_priority_grows_one_step_per_ageing_time() -> None:
    snapshot = snapshot_of(
        queued(priority=2, submitted_s=NOW_S),
        queued(priority=1, submitted_s=NOW_S - 5400),
        queued(priority=0, submitted_s=NOW_S - 7200),
    )
    aged = orderings.priority(3600.0)(snapshot, remaining(snapshot))
    assert aged.tolist() == [-2.0, -2.5, -2.0]
    plain = orderings.priority(0.0)(snapshot, remaining(snapshot))
    assert plain.tolist() == [-2.0, -1.0, 0.0]


def test_deadlines_and_remaining_times_put_the_unknown_last() -> None:
    snapshot = snapshot_of(queued(deadline_s=50.0, est_run_s=30.0), queued())
    assert orderings.earliest_deadline(snapshot, remaining(snapshot)).tolist() == [50.0, np.inf]
    assert orderings.shortest_remaining(snapshot, remaining(snapshot)).tolist() == [30.0, np.inf]


def test_attained_service_sinks_through_queues_at_the_thresholds() -> None:
    service = [0.0, 99.0, 100.0, 999.0, 1000.0, 5000.0]
    snapshot = snapshot_of(*(queued(attained_gpu_s=gpu_s) for gpu_s in service))
    key = orderings.least_attained_service([100.0, 1000.0])(snapshot, remaining(snapshot))
    assert key.tolist() == [0, 0, 1, 1, 2, 2]


def test_finish_time_fairness_is_shared_over_isolated_time() -> None:
    snapshot = snapshot_of(
        # (100 waited + 50 to run) / 50, and (100 + 400) / 500.
        queued(submitted_s=NOW_S - 100, est_run_s=50.0, est_total_s=50.0),
        queued(submitted_s=NOW_S - 100, est_run_s=400.0, est_total_s=500.0),
        queued(submitted_s=NOW_S - 100, est_run_s=50.0),
    )
    key = orderings.finish_time_fairness(snapshot, remaining(snapshot))
    assert key.tolist() == [-3.0, -1.0, np.inf]


def test_fair_share_counts_a_tenants_gpus_per_weight_running_ones_first() -> None:
    snapshot = snapshot_of(
        queued(4, tenant=0, submitted_s=1.0),
        running((0, 0b11), tenant=0, submitted_s=2.0),
        queued(1, tenant=1, submitted_s=5.0),
        queued(3, tenant=1, submitted_s=4.0),
        queued(1, tenant=1, blocked=1),
        quotas=[-1, -1],
        weights=[2.0, 1.0],
    )
    key = orderings.fair_share(snapshot, remaining(snapshot))
    assert key.tolist() == [(2 + 4) / 2, 2 / 2, 3 + 1, 3, np.inf]


def test_ties_go_to_the_earlier_then_the_lower_id() -> None:
    snapshot = snapshot_of(
        queued(submitted_s=2.0), queued(submitted_s=1.0), queued(submitted_s=1.0)
    )
    order = orderings.ranked(snapshot, np.zeros(3), np.arange(3))
    assert order.tolist() == [1, 2, 0]


def test_lost_seconds_count_from_the_last_checkpoint_plus_the_restart() -> None:
    snapshot = snapshot_of(
        running((0, 0b1), since_s=500.0, restart_cost_s=10.0),
        running((0, 0b10), since_s=500.0, checkpoint_s=NOW_S - 100),
        # A checkpoint of an earlier attempt saves nothing of this one.
        running((0, 0b100), since_s=500.0, checkpoint_s=NOW_S - 900),
        running((0, 0b11000), since_s=500.0, restart_cost_s=1.0),
    )
    assert lost_s(snapshot).tolist() == [510.0, 100.0, 500.0, 501.0]
    victims = Victims(snapshot, np.zeros(4), min_run_s=0, by_rank=True)
    assert victims.cost_gpu_s.tolist() == [510.0, 100.0, 500.0, 1002.0]


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("fifo", 1000),
        ("sjf", 1001),
        ("srtf", 1001),
        ("edf", 1002),
        ("priority", 1003),
        ("las", 1004),
        ("ftf", 1005),
        ("fair-share", 1006),
        ("fifo-backfill", 1000),
        ("conservative-backfill", 1000),
    ],
)
def test_each_policy_serves_its_own_first(name: str, first: int) -> None:
    common = {"est_total_s": 1e9, "est_run_s": 1000.0, "attained_gpu_s": 1e5}
    jobs = [
        queued(4, **{**common, "submitted_s": -1e6}),
        queued(4, **{**common, "est_run_s": 1.0}),
        queued(4, **{**common, "deadline_s": NOW_S}),
        queued(4, **{**common, "priority": 999}),
        queued(4, **{**common, "attained_gpu_s": 0.0}),
        queued(4, **{**common, "est_total_s": 10.0}),
        queued(4, **{**common, "tenant": 1}),
        running((0, 0b1111), tenant=0, preemptible=False),
    ]
    snapshot = World(nodes=[Node(gpus=8)], jobs=jobs, quotas=[-1, -1]).snapshot()
    assert [start.job for start in build(name, {}).plan(snapshot).starts] == [first]
