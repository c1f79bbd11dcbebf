"""Synergy through the database: profiles over HTTP decide the CPUs of starting and running jobs."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import Sum

from agent.wire import AttemptRef, End
from clusters.models import Cluster, Node
from jobs.models import Allocation, Attempt, Job
from scheduler_service.factories import NOW
from scheduling.models import Decision, Round
from scheduling.round import run_round
from tests.api import Api
from tests.engines.agents.nodes import Agent, join
from tests.jobs.conftest import Submit, World

PROFILES = "/api/v1/profiles/"
CPUS = (1, 2, 4, 8, 16, 32)
# A node of tests.engines.agents.nodes has four GPUs, 64 CPUs and 64 GiB: a GPU's part of it.
PART = (16, 16_384)


def point(cpus: float | None, steps_per_s: float) -> dict[str, Any]:
    told = {} if cpus is None else {"cpus_per_gpu": cpus}
    return {"gpu_type": "A100", "gpus": 1, "steps_per_s": steps_per_s, **told}


# Else a job asks for one CPU and 1024 MiB of its own.
NOTHING: dict[str, Any] = {"cpus_per_gpu": 0, "memory_mib_per_gpu": 0}
HUNGRY = [point(cpus, 0.25 * cpus) for cpus in CPUS]
CONTENT = [point(cpus, 2.5) for cpus in CPUS]


def describe(member: Api, name: str, points: Sequence[dict[str, Any]], **fields: Any) -> None:
    made = member.post(PROFILES, {"name": name, "points": points, **fields})
    assert made.status_code == 201, made.content
    fit = member.post(f"{PROFILES}{made.json()['id']}/fit/")
    assert fit.status_code == 201, fit.content


@pytest.fixture
def agent(world: World, member: Api) -> Agent:
    """The only node, under Synergy; its tenant has described a hungry and a content job."""
    Node.objects.update(state=Node.State.DRAINED)
    Cluster.objects.update(policy="synergy", policy_parameters={})
    joined = join(world.cluster, "host")
    describe(member, "hungry", HUNGRY)
    describe(member, "content", CONTENT)
    return joined


def hold_round(world: World, after_s: float = 0) -> Round:
    entry = run_round(world.cluster.pk, now=NOW + timedelta(seconds=after_s))
    assert entry is not None
    assert (entry.status, entry.error) == ("done", "")
    return entry


def shares() -> list[tuple[int, int]]:
    rows = Allocation.objects.filter(released_at=None).order_by("attempt__job_id")
    return list(rows.values_list("cpus", "memory_mib"))


def places() -> list[str]:
    rows = Allocation.objects.filter(released_at=None).order_by("attempt__job_id")
    return list(rows.values_list("node__name", flat=True))


def counters_are_exact() -> bool:
    held = Allocation.objects.filter(released_at=None)
    return all(
        (node.cpus_used, node.memory_used_mib)
        == tuple(
            total or 0
            for total in held.filter(node=node)
            .aggregate(c=Sum("cpus"), m=Sum("memory_mib"))
            .values()
        )
        for node in Node.objects.all()
    )


def test_sensitivity_decides_at_the_start_and_for_who_runs(
    world: World, agent: Agent, submit: Submit
) -> None:
    first = submit(profile="hungry", **NOTHING)
    submit(profile="content", **NOTHING)
    assert hold_round(world).started == 2
    assert shares() == [(32, 16_384), (1, 16_384)]
    attempts = {wants.attempt_id: wants for wants in agent.sync().attempts}
    begun = Attempt.objects.get(job=first)
    assert attempts[begun.pk].cpus == 32
    for wants in attempts.values():
        agent.running(wants)
    agent.sync()

    # Beside 33 CPUs the second gets its part, 16; for the third the first gives its surplus back.
    # Of the 15 that are then left the first in rank takes eight: 24 is the next point above 16.
    submit(profile="hungry", **NOTHING)
    submit(profile="hungry", **NOTHING)
    entry = hold_round(world, after_s=10)

    assert shares() == [(24, 16_384), (1, 16_384), PART, PART]
    assert counters_are_exact()
    assert Node.objects.get(name="host").cpus_used == 24 + 1 + 16 + 16
    tuned = Decision.objects.filter(round=entry, action="retune", applied=True)
    assert list(tuned.values_list("job_id", flat=True)) == [first.pk]
    # The same attempt, on other CPUs: its agent changes it in place.
    told = {wants.attempt_id: wants.cpus for wants in agent.sync().attempts}
    assert told[begun.pk] == 24


def test_what_was_never_measured_is_not_taken_away(
    world: World, agent: Agent, member: Api, submit: Submit
) -> None:
    """Without a CPU curve a job keeps its part; without one of memory, its part of that.

    Who says how much memory is enough gets the least point that has it.
    """
    describe(member, "plain", [point(None, 3.0)])
    submit(profile="hungry", **NOTHING)
    submit(profile="plain", **NOTHING)
    submit(profile="content", memory_mib_per_gpu=1024)
    hold_round(world)
    assert shares() == [(32, 16_384), PART, (1, 4096)]


def test_memory_follows_from_the_data_set(
    world: World, agent: Agent, member: Api, submit: Submit
) -> None:
    """A cache of 8 GiB holds all the data; with 4 GiB half of it takes five seconds a step."""
    data = {"dataset_mib": 8192, "step_mib": 1000, "storage_mib_per_s": 100}
    describe(member, "reader", CONTENT, **data)
    submit(profile="reader", memory_mib_per_gpu=1024)
    hold_round(world)
    assert shares() == [(1, 8192)]


def stop(agent: Agent, job: Job) -> None:
    attempt = Attempt.objects.exclude(state="ended").get(job=job)
    ref = AttemptRef(attempt.pk, attempt.fence)
    agent.ended(ref, exit_code=None, signal=15, end=End.STOPPED)
    agent.sync(now=NOW + timedelta(seconds=70))


def test_two_running_jobs_change_places(
    world: World, agent: Agent, member: Api, submit: Submit
) -> None:
    """Two hungry jobs fill one node while two content ones idle another: one of each changes."""
    Node.objects.update(state=Node.State.DRAINED)
    nodes = [join(world.cluster, name, gpus=2) for name in ("east", "west")]
    describe(member, "ravenous", [point(cpus, 0.25 * cpus) for cpus in (*CPUS, 64)])
    Cluster.objects.update(policy="fifo")
    names = ("ravenous", "ravenous", "content", "content")
    jobs = [submit(profile=name, **NOTHING) for name in names]
    hold_round(world)
    assert places() == ["east", "east", "west", "west"]
    for node in nodes:
        for wants in node.sync().attempts:
            node.running(wants)
        node.sync()

    parameters = {"migration": True, "min_run_s": 0}
    Cluster.objects.update(policy="synergy", policy_parameters=parameters)
    entry = hold_round(world, after_s=60)
    assert (entry.moved, entry.stale) == (2, 0)
    assert counters_are_exact()

    # Whoever stops first finds its place taken and is queued; the other then finds its own free.
    stop(nodes[0], jobs[0])
    assert Job.objects.get(pk=jobs[0].pk).state == "queued"
    stop(nodes[1], jobs[2])
    assert Job.objects.get(pk=jobs[2].pk).state == "placed"
    hold_round(world, after_s=80)
    assert places() == ["west", "east", "east", "west"]
    assert [cpus for cpus, _ in shares()] == [48, 48, 1, 1]
    assert counters_are_exact()


def test_jobs_of_another_policy_get_their_part_before_anybody_gets_more(
    world: World, agent: Agent, submit: Submit
) -> None:
    Cluster.objects.update(policy="fifo")
    for _ in range(4):
        submit(profile="hungry", **NOTHING)
    hold_round(world)
    assert shares() == [(0, 0)] * 4
    Cluster.objects.update(policy="synergy")
    hold_round(world, after_s=10)
    assert shares() == [PART] * 4
    assert counters_are_exact()
    assert Job.objects.filter(state="placed").count() == 4
