"""Whatever changes what a node should do rings it, in the transaction that changes it."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import psycopg
import pytest
from django.conf import settings
from django.db import connection, transaction

from clusters.models import Cluster, Node
from clusters.node_states import State, advance
from engines.agents.loss import watch_nodes
from jobs.models import Allocation, Attempt, Job
from jobs.services.cancel import job_cancel
from policies.contract.plan import Piece, Plan, Preempt, Retune, SetClock
from scheduler_service.factories import NOW, make_cluster, make_jobs, make_tenant
from scheduling.apply.apply import apply_plan
from scheduling.round import run_round
from tenancy.async_pool import parameters
from tenancy.callers import SYSTEM
from tests.engines.agents.nodes import Agent, join

pytestmark = pytest.mark.django_db(transaction=True)
Rung = Callable[[], set[int]]


@pytest.fixture
def rung() -> Iterator[Rung]:
    """The nodes that were rung since it was last asked; notifications come in order of commits."""
    with psycopg.connect(**parameters(), autocommit=True) as listener:
        listener.execute("LISTEN fairwatt_nodes")

        def asked() -> set[int]:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_notify('fairwatt_nodes', '0')")
            heard: set[int] = set()
            for notice in listener.notifies(timeout=300):
                if notice.payload == "0":
                    return heard
                heard.add(int(notice.payload))
            raise AssertionError("the last notice did not come")

        yield asked


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster()


@pytest.fixture
def agents(cluster: Cluster) -> list[Agent]:
    return [join(cluster, f"n{number}", gpus=4) for number in range(3)]


def placed(cluster: Cluster, agents: list[Agent], *, running: bool = True) -> Job:
    (job,) = make_jobs(cluster, make_tenant(), 1, min_gpus=4, max_gpus=4)
    run_round(cluster.pk, now=NOW)
    job.refresh_from_db()
    if running:
        holder = holder_of(job, agents)
        (attempt,) = holder.sync().attempts
        holder.running(attempt)
        holder.sync()
        job.refresh_from_db()
        assert job.state == "running"
    return job


def holder_of(job: Job, agents: list[Agent]) -> Agent:
    held = Allocation.objects.filter(attempt__job=job).values_list("node_id", flat=True)[0]
    return next(agent for agent in agents if agent.node.pk == held)


def test_a_placement_rings_its_node_once_and_no_other(
    cluster: Cluster, agents: list[Agent], rung: Rung
) -> None:
    rung()
    job = placed(cluster, agents, running=False)
    assert job.state == "placed"
    assert rung() == {holder_of(job, agents).node.pk}


def test_a_sync_and_what_it_reports_ring_nobody(
    cluster: Cluster, agents: list[Agent], rung: Rung
) -> None:
    job = placed(cluster, agents)
    rung()
    holder = holder_of(job, agents)
    (attempt,) = holder.sync().attempts
    holder.ended(attempt)
    holder.sync()
    job.refresh_from_db()
    assert job.state == "succeeded"
    assert rung() == set()


def test_a_cancel_rings_who_runs_it(cluster: Cluster, agents: list[Agent], rung: Rung) -> None:
    job = placed(cluster, agents)
    rung()
    job_cancel(caller=SYSTEM, job_id=job.pk, now=NOW)
    assert rung() == {holder_of(job, agents).node.pk}


def apply(cluster: Cluster, plan: Plan) -> None:
    round_id = Attempt.objects.values_list("round_id", flat=True)[0]
    assert round_id is not None
    assert not apply_plan(plan, cluster_id=cluster.pk, round_id=round_id, now=NOW).stale


def test_a_preemption_a_clock_and_other_cpus_ring_who_runs_it(
    cluster: Cluster, agents: list[Agent], rung: Rung
) -> None:
    job = placed(cluster, agents)
    node = holder_of(job, agents).node.pk
    rung()
    apply(cluster, Plan(clocks=(SetClock(job.pk, 900),)))
    assert rung() == {node}
    apply(cluster, Plan(clocks=(SetClock(job.pk, 900),)))
    assert rung() == set()
    apply(cluster, Plan(retunes=(Retune(job.pk, (Piece(node, 0b1111, 8, 4096),)),)))
    assert rung() == {node}
    apply(cluster, Plan(preempts=(Preempt(job.pk, for_job=job.pk, lost_gpu_s=0.0),)))
    assert rung() == {node}


def test_switching_a_node_rings_it(agents: list[Agent], rung: Rung) -> None:
    node = agents[1].node
    rung()
    moved = Node.objects.filter(pk=node.pk)
    advance(moved, sources=[State.READY], to=State.OFF, now=NOW, reason="idle")
    assert rung() == {node.pk}


def test_who_is_given_up_is_told_so_when_it_comes_back(
    cluster: Cluster, agents: list[Agent], rung: Rung
) -> None:
    job = placed(cluster, agents)
    node = holder_of(job, agents).node
    others = [agent for agent in agents if agent.node.pk != node.pk]
    watched = settings.RUN_LEASE_S + settings.RUN_MARGIN_S + 20
    for ahead_s in range(0, int(watched), 5):
        rung()
        now = NOW + timedelta(seconds=ahead_s)
        for agent in others:
            agent.sync(now=now)
        watch_nodes(now=now)
        job.refresh_from_db()
        if job.state != "running":
            break
    assert job.state == "queued"
    assert rung() == {node.pk}


def test_what_is_rolled_back_rings_nobody(
    cluster: Cluster, agents: list[Agent], rung: Rung
) -> None:
    job = placed(cluster, agents)
    rung()
    with transaction.atomic():
        job_cancel(caller=SYSTEM, job_id=job.pk, now=NOW)
        transaction.set_rollback(True)
    assert rung() == set()
