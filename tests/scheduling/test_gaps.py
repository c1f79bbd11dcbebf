"""Rounds get their bound and gap after the fact, once, and only where their policy knows one."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import IntegrityError, connection, transaction

from clusters.models import Cluster
from policies.contract.snapshot import Snapshot
from policies.fairwatt.policy import Fairwatt
from scheduler_service import tasks
from scheduler_service.factories import (
    NOW,
    make_cluster,
    make_gpu_type,
    make_jobs,
    make_nodes,
    make_tenant,
)
from scheduling import gaps
from scheduling.gaps import bound_round, rounds_to_bound
from scheduling.models import Round
from scheduling.replay import replay
from scheduling.retention import forget_rounds
from scheduling.round import decide, run_round

pytestmark = pytest.mark.django_db
ROUND, BOUND = 0x0F41_0001, 0x0F41_0002
MONEY: dict[str, Any] = {
    "assumed_price_per_kwh": 0.15,
    "wait_price_per_h": 0.1,
    "fairness": 0.0,
    "power_off": False,
}


def bounded_cluster(policy: str = "fairwatt", **parameters: Any) -> Cluster:
    """One GPU of 60 W idle and 400 W at most, a host that draws nothing, two jobs of 30 s."""
    cluster = make_cluster(policy=policy, policy_parameters=parameters)
    make_nodes(cluster, make_gpu_type(), 1, gpus=1)
    make_jobs(cluster, make_tenant(), 2, estimated_run_s=30)
    return cluster


def run(cluster: Cluster, after_s: float = 0) -> Round:
    entry = decide(cluster.pk, now=NOW + timedelta(seconds=after_s))
    assert entry is not None
    return entry


@contextmanager
def elsewhere(what: int, cluster_id: int) -> Iterator[None]:
    """Another session holds one of the cluster's locks."""
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("SET lock_timeout = '2s'")
        other.execute("SELECT pg_advisory_lock(%s)", [what << 32 | cluster_id])
        yield
        # A server frees what a closed session held some time after the close.
        other.execute("SELECT pg_advisory_unlock(%s)", [what << 32 | cluster_id])


def stored(entry: Round) -> tuple[float | None, float | None]:
    entry.refresh_from_db()
    return entry.bound, entry.gap


def test_two_jobs_for_one_gpu_have_the_gap_worked_out_by_hand() -> None:
    """30 s each, the second from the next slot, 60 s, on: its wait of a minute may be too much.

    Each adds 0.34 kW for 30 s at 0.15 a kWh. The bound holds what starts within a slot to be there
    from its beginning.
    """
    entry = run(bounded_cluster(**MONEY))
    energy, second = 2 * 0.34 * 30 / 3600 * 0.15, 0.1 / 3600
    assert entry.objective == pytest.approx(energy + (30 + 90) * second)
    assert stored(entry) == (None, None)
    assert bound_round(entry.pk)
    bound, gap = stored(entry)
    assert bound == pytest.approx(energy + (30 + 30) * second)
    assert gap == pytest.approx(0.398406, abs=1e-6)
    assert replay(entry).identical


def test_a_policy_without_a_bound_leaves_rounds_without() -> None:
    entry = run(bounded_cluster("fifo"))
    assert rounds_to_bound() == []
    assert not bound_round(entry.pk)
    assert stored(entry) == (None, None)


def test_a_repeated_message_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = run(bounded_cluster())
    assert bound_round(entry.pk)
    before = stored(entry)
    monkeypatch.setattr(Fairwatt, "bound", lambda *_: 0.0)
    assert not bound_round(entry.pk)
    assert stored(entry) == before


def test_who_is_overtaken_while_computing_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = run(bounded_cluster())

    def overtaken(self: Fairwatt, snapshot: Snapshot, objective: float) -> float:
        Round.objects.filter(pk=entry.pk).update(bound=objective, gap=0.0)
        return objective / 2

    monkeypatch.setattr(Fairwatt, "bound", overtaken)
    assert not bound_round(entry.pk)
    assert stored(entry) == (entry.objective, 0.0)


def test_a_late_message_changes_nothing() -> None:
    cluster = bounded_cluster()
    first, second = run(cluster), run(cluster, 1)
    forget_rounds(now=NOW, replayable=1)
    assert not bound_round(first.pk)
    assert stored(first) == (None, None)
    forgotten = second.pk
    forget_rounds(now=NOW + timedelta(days=31))
    assert not bound_round(forgotten)


def test_one_process_at_a_time_looks_at_a_cluster() -> None:
    entry = run(bounded_cluster())
    with elsewhere(BOUND, entry.cluster_id):
        assert not bound_round(entry.pk)
        # Rounds go on meanwhile.
        assert run_round(entry.cluster_id, now=NOW) is not None
    assert stored(entry) == (None, None)
    with elsewhere(ROUND, entry.cluster_id):
        assert run_round(entry.cluster_id, now=NOW) is None
        assert bound_round(entry.pk)


def test_only_the_newest_round_of_each_cluster_is_looked_at() -> None:
    cluster = bounded_cluster()
    run(cluster)
    newest = run(cluster, 1)
    other = make_cluster("idle", policy="fairwatt")
    assert rounds_to_bound() == [newest.pk]
    assert bound_round(newest.pk)
    assert rounds_to_bound() == []
    make_jobs(other, make_tenant("other"), 1)
    theirs = run(other)
    assert rounds_to_bound() == [theirs.pk]


@pytest.mark.parametrize(
    "changed",
    [
        {"status": "failed", "objective": None},
        {"snapshot": None},
        {"policy": "gone"},
        {"parameters": {"gone": 1}},
    ],
)
def test_a_round_that_can_not_be_planned_again_is_left_alone(changed: dict[str, Any]) -> None:
    entry = run(bounded_cluster())
    Round.objects.filter(pk=entry.pk).update(**changed)
    assert rounds_to_bound() == []
    assert not bound_round(entry.pk)


def test_a_bound_above_the_objective_is_said_aloud_and_not_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entry = run(bounded_cluster())
    monkeypatch.setattr(Fairwatt, "bound", lambda self, snapshot, objective: objective + 1.0)
    with pytest.raises(ValueError, match="above the objective"):
        bound_round(entry.pk)
    assert stored(entry) == (None, None)
    with elsewhere(BOUND, entry.cluster_id):
        pass  # The lock was given back.
    monkeypatch.undo()
    assert bound_round(entry.pk)


@pytest.mark.parametrize(
    ("constraint", "values"),
    [
        ("round_gap", {"bound": 1.0}),
        ("round_gap", {"gap": 0.1}),
        ("round_gap", {"bound": 1.0, "gap": -0.1}),
        ("round_gap", {"objective": None, "bound": 1.0, "gap": 0.1}),
        ("round_bound", {"bound": 2.1, "gap": 0.0}),
        ("round_bound", {"bound": float("nan"), "gap": 0.0}),
        (None, {"bound": 2.0 + 1e-7, "gap": 0.0}),
        (None, {"objective": -2.0, "bound": -3.0, "gap": 0.5}),
        (None, {"objective": None}),
    ],
)
def test_the_database_holds_bound_and_gap_together(
    constraint: str | None, values: dict[str, Any]
) -> None:
    rows = Round.objects.filter(pk=run(bounded_cluster()).pk)
    rows.update(objective=2.0)
    if constraint is None:
        rows.update(**values)
        return
    with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
        rows.update(**values)


def test_beat_asks_for_bounds_in_a_queue_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[Any, ...]] = []
    monkeypatch.setattr(
        tasks.bound, "apply_async", lambda args, **options: sent.append((args, options))
    )
    entry = run(bounded_cluster())
    tasks.bounds()
    options = {"queue": gaps.QUEUE, "expires": settings.BOUND_INTERVAL_S}
    assert sent == [((entry.pk,), options)]
    tasks.bound(entry.pk)
    assert stored(entry)[1] is not None
    tasks.bounds()
    assert len(sent) == 1


@pytest.mark.process
def test_beat_has_it_every_so_often() -> None:
    beat = settings.CELERY_BEAT_SCHEDULE["bounds"]
    assert (beat["task"], beat["schedule"]) == (tasks.bounds.name, settings.BOUND_INTERVAL_S)
    code = "from scheduler_service import settings as s; print('bounds' in s.CELERY_BEAT_SCHEDULE)"
    told = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "BOUND_INTERVAL_S": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == "False"
