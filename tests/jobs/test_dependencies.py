"""Jobs that wait for others: what counts as met, what can never run, and ends that race submits."""

import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection, transaction

from jobs.lifecycle import State, advance
from jobs.models import Job, JobDependency
from jobs.services import job_submit, predecessors
from jobs.specs import Dependency, JobSpec
from scheduler_service.factories import NOW
from scheduling.round import decide
from tests.api import Api
from tests.jobs.conftest import JOBS, SUBMIT, Submit, World

pytestmark = pytest.mark.django_db
# Rounds and nudges happen outside the transaction that a plain test would be.
committing = pytest.mark.django_db(transaction=True)


def end(job: Job, state: State) -> None:
    if state != State.CANCELLED:
        advance([job.pk], sources=[State.QUEUED], to=State.PLACED, reason="test", now=NOW)
        advance([job.pk], sources=[State.PLACED], to=State.RUNNING, reason="test", now=NOW)
        advance([job.pk], sources=[State.RUNNING], to=state, reason="test", now=NOW)
    else:
        advance([job.pk], sources=[State.QUEUED], to=state, reason="test", now=NOW)


def after(*jobs: Job, kind: str = "succeeded") -> list[dict[str, Any]]:
    return [{"job": job.pk, "kind": kind} for job in jobs]


@committing
def test_a_job_waits_for_all_it_depends_on(member: Api, submit: Submit, world: World) -> None:
    one, two = submit(name="one"), submit(name="two")
    last = submit(depends_on=after(one, two))
    assert last.unmet_dependencies == 2
    shown = member.get(f"{JOBS}{last.pk}/").json()["depends_on"]
    assert shown == [
        {"job": one.pk, "kind": "succeeded", "met_at": None},
        {"job": two.pk, "kind": "succeeded", "met_at": None},
    ]
    decide(world.cluster.pk, now=NOW)
    last.refresh_from_db()
    assert last.state == State.QUEUED

    for job in (one, two):
        advance([job.pk], sources=[State.PLACED], to=State.RUNNING, reason="test", now=NOW)
        advance([job.pk], sources=[State.RUNNING], to=State.SUCCEEDED, reason="test", now=NOW)
    last.refresh_from_db()
    assert last.unmet_dependencies == 0
    decide(world.cluster.pk, now=NOW)
    last.refresh_from_db()
    assert last.state == State.PLACED


@pytest.mark.parametrize(
    ("ended", "kind", "unmet"),
    [
        (State.SUCCEEDED, "succeeded", 0),
        (State.SUCCEEDED, "ended", 0),
        (State.FAILED, "ended", 0),
        (State.CANCELLED, "ended", 0),
        (None, "succeeded", 1),
        (None, "ended", 1),
    ],
)
def test_what_has_ended_already_counts(
    submit: Submit, ended: State | None, kind: str, unmet: int
) -> None:
    earlier = submit()
    if ended is not None:
        end(earlier, ended)
    later = submit(depends_on=after(earlier, kind=kind))
    assert later.unmet_dependencies == unmet
    assert (JobDependency.objects.get(job=later).met_at is None) == bool(unmet)


@pytest.mark.parametrize("ended", [State.FAILED, State.CANCELLED])
def test_what_can_never_run_is_refused(member: Api, submit: Submit, ended: State) -> None:
    earlier = submit()
    end(earlier, ended)
    answer = member.post(JOBS, {**SUBMIT, "depends_on": after(earlier)})
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (409, "dependency_failed")
    assert problem["errors"][0]["pointer"] == "/depends_on/0/job"
    assert Job.objects.count() == 1


def test_unknown_and_foreign_jobs_look_alike(
    member: Api, stranger: Api, operator: Api, submit: Submit
) -> None:
    theirs = stranger.post(JOBS, SUBMIT).json()["id"]
    ours = submit()
    for api, body in (
        (member, {**SUBMIT, "depends_on": [{"job": ours.pk}, {"job": theirs}]}),
        (member, {**SUBMIT, "depends_on": [{"job": ours.pk}, {"job": 10**17}]}),
        (operator, {**SUBMIT, "tenant": "ours", "depends_on": [{"job": ours.pk}, {"job": theirs}]}),
    ):
        answer = api.post(JOBS, body)
        assert (answer.status_code, answer.json()["code"]) == (409, "unknown_job")
        assert answer.json()["errors"][0]["pointer"] == "/depends_on/1/job"


@pytest.fixture
def short_stack() -> Iterator[int]:
    """Room for Django's own calls, but for no recursion along a chain of the returned length."""
    before, length = sys.getrecursionlimit(), 150
    sys.setrecursionlimit(len(inspect.stack()) + length)
    yield length
    sys.setrecursionlimit(before)


def test_failure_runs_down_a_chain_longer_than_the_stack(
    submit: Submit, world: World, short_stack: int
) -> None:
    first = submit()
    jobs = Job.objects.bulk_create(
        Job(
            tenant=world.ours,
            cluster=world.cluster,
            name=f"link {number}",
            argv=["true"],
            submitted_at=NOW,
            unmet_dependencies=1,
        )
        for number in range(short_stack)
    )
    chain = [first, *jobs]
    JobDependency.objects.bulk_create(
        JobDependency(tenant=world.ours, job=later, on_job=earlier)
        for earlier, later in zip(chain, jobs, strict=False)
    )
    end(first, State.CANCELLED)
    assert set(Job.objects.values_list("state", flat=True)) == {State.CANCELLED}
    reasons = Job.objects.exclude(pk=first.pk).values_list("reason", flat=True)
    assert set(reasons) == {"dependency_failed"}


def in_thread(work: Callable[[], None]) -> threading.Thread:
    """On a connection of its own, which is closed afterwards."""

    def run() -> None:
        try:
            work()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def wait_until_blocked(pid: int) -> None:
    """Until another session waits for a lock that the session `pid` holds."""
    with connection.cursor() as cursor:
        for _ in range(1000):
            cursor.execute(
                "SELECT 1 FROM pg_locks WHERE NOT granted AND %s = ANY(pg_blocking_pids(pid))",
                [pid],
            )
            if cursor.fetchone():
                return
            cursor.execute("SELECT pg_sleep(0.01)")
    raise AssertionError("nobody waits")


def pid_here() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def spec_after(job: Job) -> JobSpec:
    return JobSpec(name="later", cluster="demo", argv=["true"], depends_on=[Dependency(job=job.pk)])


@committing
def test_a_submit_waits_for_an_end_that_is_under_way(submit: Submit, world: World) -> None:
    earlier = submit()
    made: list[Job] = []
    with transaction.atomic():
        end(earlier, State.SUCCEEDED)
        thread = in_thread(
            lambda: made.append(
                job_submit(caller=world.caller(), spec=spec_after(earlier), now=NOW)
            )
        )
        wait_until_blocked(pid_here())
    thread.join()
    assert Job.objects.get(pk=made[0].pk).unmet_dependencies == 0


@committing
def test_an_end_waits_for_a_submit_that_is_under_way(submit: Submit, world: World) -> None:
    earlier = submit()
    with transaction.atomic():
        later = job_submit(caller=world.caller(), spec=spec_after(earlier), now=NOW)
        thread = in_thread(lambda: end(earlier, State.SUCCEEDED))
        wait_until_blocked(pid_here())
    thread.join()
    assert later.unmet_dependencies == 1
    assert Job.objects.get(pk=later.pk).unmet_dependencies == 0


def test_without_the_lock_the_end_would_be_missed(
    submit: Submit, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The counter-proof: the same interleaving, and nothing that keeps the predecessor still."""
    earlier = submit()

    def ends_right_after_the_look(drafts: Any) -> Any:
        known = original(drafts)
        end(earlier, State.SUCCEEDED)
        return known

    original = predecessors.lock_predecessors
    monkeypatch.setattr("jobs.services.store.lock_predecessors", ends_right_after_the_look)
    later = job_submit(caller=world.caller(), spec=spec_after(earlier), now=NOW)
    assert Job.objects.get(pk=later.pk).unmet_dependencies == 1


@committing
def test_two_predecessors_that_end_at_once_are_both_counted(submit: Submit, world: World) -> None:
    one, two = submit(), submit()
    last = submit(depends_on=after(one, two))
    with transaction.atomic():
        end(one, State.SUCCEEDED)
        thread = in_thread(lambda: end(two, State.SUCCEEDED))
        wait_until_blocked(pid_here())
    thread.join()
    last.refresh_from_db()
    assert last.unmet_dependencies == 0
