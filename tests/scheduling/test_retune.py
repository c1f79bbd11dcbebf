"""Running jobs get other CPUs and memory: allocations and counters follow, or nothing changes."""

import pytest
from django.db import IntegrityError, connection

from clusters.models import Cluster, Node
from engines.agents.desired import wanted
from engines.agents.node_state import KnownNode, OpenAttempt
from jobs.models import Allocation, Attempt, Job
from policies.contract.plan import Piece, Plan, Retune, Start
from scheduler_service.factories import (
    NOW,
    make_cluster,
    make_gpu_type,
    make_jobs,
    make_nodes,
    make_tenant,
)
from scheduling.apply.apply import apply_plan
from scheduling.models import Decision
from scheduling.round import run_round

pytestmark = pytest.mark.django_db


@pytest.fixture
def cluster() -> Cluster:
    """A node of four GPUs, twelve CPUs and 4000 MiB, and two jobs on one GPU each."""
    cluster, tenant = make_cluster(), make_tenant()
    make_nodes(cluster, make_gpu_type(), 1, gpus=4, cpus=12, memory_mib=4000)
    make_jobs(cluster, tenant, 2, cpus_per_gpu=3, memory_mib_per_gpu=1000)
    run_round(cluster.pk, now=NOW)
    return cluster


def give(cluster: Cluster, *retunes: Retune, starts: tuple[Start, ...] = ()) -> list[int]:
    """The jobs whose entries were stale."""
    plan = Plan(retunes=retunes, starts=starts)
    round_id = Attempt.objects.values_list("round_id", flat=True)[0]
    assert round_id is not None
    return apply_plan(plan, cluster_id=cluster.pk, round_id=round_id, now=NOW).stale


def retuned(job: Job, cpus: int, mem_mib: int, gpus: int | None = None) -> Retune:
    held = Allocation.objects.get(attempt__job=job)
    mask = 1 << held.gpu.index if gpus is None else gpus
    return Retune(job.pk, (Piece(held.node_id, mask, cpus, mem_mib),))


def shares() -> list[tuple[int, int]]:
    rows = Allocation.objects.filter(released_at=None).order_by("attempt__job_id")
    return list(rows.values_list("cpus", "memory_mib"))


def used() -> tuple[int, int]:
    node = Node.objects.get()
    return node.cpus_used, node.memory_used_mib


def test_shares_and_counters_change_together(cluster: Cluster) -> None:
    first, second = Job.objects.order_by("pk")
    assert give(cluster, retuned(first, 9, 2000), retuned(second, 1, 500)) == []
    assert shares() == [(9, 2000), (1, 500)]
    assert used() == (10, 2500)


def test_what_one_gives_up_another_gets_whoever_is_named_first(cluster: Cluster) -> None:
    first, second = Job.objects.order_by("pk")
    assert give(cluster, retuned(first, 9, 1000), retuned(second, 3, 1000)) == []
    assert give(cluster, retuned(second, 9, 1000), retuned(first, 3, 1000)) == []
    assert shares() == [(3, 1000), (9, 1000)]
    # Each gives what the other needs, of another kind: neither can come first.
    assert give(cluster, retuned(first, 1, 3500), retuned(second, 11, 500)) == []
    assert used() == (12, 4000)


def test_a_newcomer_gets_what_a_resident_gives_up(cluster: Cluster) -> None:
    first, _ = Job.objects.order_by("pk")
    give(cluster, retuned(first, 9, 1000))
    (third,) = make_jobs(cluster, first.tenant, 1)
    node = Node.objects.get()
    begin = Start(third.pk, (Piece(node.pk, 0b100, 6, 1000),))
    assert give(cluster, retuned(first, 3, 1000), starts=(begin,)) == []
    assert shares() == [(3, 1000), (3, 1000), (6, 1000)]
    assert used() == (12, 3000)


@pytest.mark.parametrize("case", ["too much", "other GPUs", "ended"])
def test_what_the_world_no_longer_allows_is_stale_and_changes_nothing(
    cluster: Cluster, case: str
) -> None:
    first, _ = Job.objects.order_by("pk")
    entry = retuned(first, 10, 1000) if case == "too much" else retuned(first, 4, 1000, 0b110)
    if case == "ended":
        entry = retuned(first, 4, 1000)
        Attempt.objects.filter(job=first).update(state="stopping")
    assert give(cluster, entry) == [first.pk]
    assert shares() == [(3, 1000), (3, 1000)]
    assert used() == (6, 2000)


def test_the_database_refuses_more_cpus_than_a_node_has(cluster: Cluster) -> None:
    with pytest.raises(IntegrityError), connection.cursor() as cursor:
        cursor.execute("UPDATE clusters_node SET cpus_used = cpus + 1")


def test_the_agent_is_told_the_new_share(cluster: Cluster) -> None:
    first, _ = Job.objects.order_by("pk")
    attempt = Attempt.objects.get(job=first)
    node = Node.objects.get()

    def told() -> tuple[int, int]:
        cpus, memory_mib = Allocation.objects.values_list("cpus", "memory_mib").get(attempt=attempt)
        held = OpenAttempt(
            attempt.pk, attempt.fence, "running", "", None, cpus, memory_mib, "running", None, None,
            unreported=False,
        )  # fmt: skip
        seen = KnownNode(node.pk, "ready", cluster.pk, {}, {attempt.pk: held})
        (wants,) = wanted(seen, now=NOW).attempts
        return wants.cpus, wants.memory_mib

    assert told() == (3, 1000)
    give(cluster, retuned(first, 9, 2000))
    assert told() == (9, 2000)


def test_a_round_of_synergy_is_carried_out_and_recorded() -> None:
    cluster, tenant = make_cluster(policy="synergy"), make_tenant()
    make_nodes(cluster, make_gpu_type(), 1, gpus=4, cpus=12, memory_mib=4000)
    make_jobs(cluster, tenant, 3, cpus_per_gpu=0, memory_mib_per_gpu=0)
    entry = run_round(cluster.pk, now=NOW)
    assert entry is not None
    assert (entry.status, entry.started, entry.error) == ("done", 3, "")
    # Nothing is known about these jobs, so each has its part of the node.
    assert shares() == [(3, 1000)] * 3
    Allocation.objects.update(cpus=1)
    Node.objects.update(cpus_used=3)
    again = run_round(cluster.pk, now=NOW)
    assert again is not None
    assert (again.error, shares(), used()) == ("", [(3, 1000)] * 3, (9, 3000))
    assert Decision.objects.filter(round=again, action="retune", applied=True).count() == 3
