"""Between a plan and its carrying out the world moves on: what no longer holds is left out."""

from collections.abc import Callable
from datetime import datetime

import pytest

from clusters.models import Cluster, Gpu, Node
from jobs.lifecycle import State
from jobs.models import Allocation, Attempt, Job
from policies.contract.snapshot import Snapshot
from scheduler_service.factories import (
    NOW,
    make_cluster,
    make_gpu_type,
    make_jobs,
    make_nodes,
    make_tenant,
)
from scheduling.round import run_round
from scheduling.snapshot.load import load_snapshot

pytestmark = pytest.mark.django_db
Meanwhile = Callable[[Callable[[], object]], None]


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Meanwhile:
    """Let something happen once the round has seen its snapshot."""

    def happens(act: Callable[[], object]) -> None:
        def load(cluster: Cluster, *, now: datetime, seed: int) -> Snapshot:
            snapshot = load_snapshot(cluster, now=now, seed=seed)
            act()
            return snapshot

        monkeypatch.setattr("scheduling.round.load_snapshot", load)

    return happens


def test_a_job_that_was_cancelled_meanwhile_is_not_placed(meanwhile: Meanwhile) -> None:
    cluster = make_cluster()
    make_nodes(cluster, make_gpu_type(), 1)
    (job,) = make_jobs(cluster, make_tenant(), 1)
    mine = Job.objects.filter(pk=job.pk)
    meanwhile(lambda: mine.update(state=State.CANCELLED, ended_at=NOW))

    entry = run_round(cluster.pk, now=NOW)

    assert entry is not None
    assert (entry.started, entry.stale) == (0, 1)
    assert not Attempt.objects.exists()
    assert mine.get().state == State.CANCELLED


def test_a_gang_that_lost_a_gpu_meanwhile_holds_none(meanwhile: Meanwhile) -> None:
    cluster = make_cluster()
    nodes = make_nodes(cluster, make_gpu_type(), 2, gpus=1)
    make_jobs(cluster, make_tenant(), 1, min_gpus=2, max_gpus=2)
    meanwhile(lambda: Gpu.objects.filter(node=nodes[1]).update(healthy=False))

    entry = run_round(cluster.pk, now=NOW)

    assert entry is not None
    assert (entry.started, entry.stale) == (0, 1)
    assert not Attempt.objects.exists()
    assert not Allocation.objects.exists()
    assert set(Node.objects.values_list("gpus_in_use", "cpus_used")) == {(0, 0)}
