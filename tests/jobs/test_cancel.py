"""Cancelling: what waits is over at once, what runs is asked to stop."""

import time
from datetime import timedelta

import pytest

from jobs.attempts import attempts_end
from jobs.lifecycle import State, advance
from jobs.models import Allocation, Attempt, Job, JobEvent
from scheduler_service.factories import NOW, make_jobs
from scheduling.round import decide
from tenancy.models import AuditRow, Tenant
from tests.api import Api
from tests.jobs.conftest import JOBS, Submit, World

pytestmark = pytest.mark.django_db
# Rounds and nudges happen outside the transaction that a plain test would be.
committing = pytest.mark.django_db(transaction=True)


def cancel(api: Api, job: Job) -> dict[str, str]:
    answer = api.post(f"{JOBS}{job.pk}/cancel/")
    assert answer.status_code == 200, answer.content
    shown: dict[str, str] = answer.json()
    return shown


@pytest.fixture
def placed(world: World, submit: Submit) -> Job:
    """A job that a round has given its GPUs, and that no agent has fetched."""
    job = submit(gpus=2, cpus_per_gpu=3)
    decide(world.cluster.pk, now=NOW)
    job.refresh_from_db()
    assert job.state == State.PLACED
    return job


def fetched(job: Job) -> Attempt:
    """As if an agent had picked it up and started it."""
    Attempt.objects.filter(job=job).update(state=Attempt.State.RUNNING, started_at=NOW)
    advance([job.pk], sources=[State.PLACED], to=State.RUNNING, reason="started", now=NOW)
    return Attempt.objects.get(job=job)


@committing
def test_a_queued_job_is_over_at_once(member: Api, submit: Submit, world: World) -> None:
    job = submit()
    world.nudged.clear()
    shown = cancel(member, job)
    assert (shown["state"], shown["reason"]) == ("cancelled", "cancelled")
    assert shown["ended_at"] is not None
    moves = JobEvent.objects.filter(job=job).order_by("pk").values_list("from_state", "to_state")
    assert list(moves) == [(None, "queued"), ("queued", "cancelled")]
    audited = AuditRow.objects.get(action="job.cancel")
    assert (audited.object_id, audited.changes) == (job.pk, {"from": "queued"})
    assert world.nudged == [world.cluster.pk]


@committing
def test_an_unfetched_offer_gives_everything_back(member: Api, placed: Job, world: World) -> None:
    assert cancel(member, placed)["state"] == "cancelled"
    attempt = Attempt.objects.get(job=placed)
    assert (attempt.state, attempt.reason) == ("ended", "cancelled")
    assert not Allocation.objects.filter(released_at=None).exists()
    assert Tenant.objects.get(pk=world.ours.pk).gpus_in_use == 0
    for node in world.nodes:
        node.refresh_from_db()
        assert (node.cpus_used, node.memory_used_mib) == (0, 0)


@committing
def test_what_an_agent_runs_is_asked_to_stop(member: Api, placed: Job, world: World) -> None:
    fetched(placed)
    shown = cancel(member, placed)
    assert (shown["state"], shown["reason"]) == ("running", "cancel_requested")
    attempt = Attempt.objects.get(job=placed)
    assert (attempt.state, attempt.reason) == ("stopping", "cancel_requested")
    assert Allocation.objects.filter(released_at=None).count() == 2

    attempts_end([attempt.pk], state=Attempt.State.ENDED, reason="cancelled", now=NOW)
    moved = advance(
        [placed.pk], sources=[State.RUNNING], to=State.CANCELLED, reason="cancelled", now=NOW
    )
    assert moved == [placed.pk]


@committing
def test_the_request_survives_a_preemption(member: Api, placed: Job) -> None:
    """The mark is on the attempt, where preempting the job does not overwrite it."""
    fetched(placed)
    cancel(member, placed)
    advance([placed.pk], sources=[State.RUNNING], to=State.PREEMPTING, reason="preempted", now=NOW)
    assert Attempt.objects.get(job=placed).reason == "cancel_requested"


def test_cancelling_twice_changes_nothing(member: Api, submit: Submit) -> None:
    job = submit()
    first = cancel(member, job)
    assert cancel(member, job) == first
    assert JobEvent.objects.filter(job=job).count() == 2
    assert AuditRow.objects.filter(action="job.cancel").count() == 1


@committing
def test_what_has_ended_cannot_be_cancelled(member: Api, placed: Job) -> None:
    attempt = fetched(placed)
    attempts_end([attempt.pk], state=Attempt.State.ENDED, reason="exited", now=NOW)
    later = NOW + timedelta(seconds=5)
    advance([placed.pk], sources=[State.RUNNING], to=State.SUCCEEDED, reason="exited", now=later)
    answer = member.post(f"{JOBS}{placed.pk}/cancel/")
    assert (answer.status_code, answer.json()["code"]) == (409, "job_ended")


def test_an_etag_read_before_no_longer_matches(member: Api, submit: Submit) -> None:
    job = submit()
    before = member.get(f"{JOBS}{job.pk}/")["ETag"]
    cancel(member, job)
    assert member.get(f"{JOBS}{job.pk}/")["ETag"] != before


@pytest.mark.parametrize("action", ["cancel", "hold", "release"])
def test_another_tenants_job_does_not_exist(stranger: Api, submit: Submit, action: str) -> None:
    job = submit()
    assert stranger.post(f"{JOBS}{job.pk}/{action}/").status_code == 404
    job.refresh_from_db()
    assert (job.state, job.held, job.version) == ("queued", False, 1)


@committing
def test_all_that_a_filter_finds_is_cancelled_and_nothing_else(
    member: Api, stranger: Api, submit: Submit, placed: Job, world: World
) -> None:
    fetched(placed)
    mine = [submit(labels={"team": "vision"}), submit(labels={"team": "vision"}, held=True)]
    kept = submit(labels={"team": "speech"})
    Job.objects.filter(pk=placed.pk).update(labels={"team": "vision"})
    world.nudged.clear()

    assert stranger.post(f"{JOBS}cancel/?label=team=vision").json() == {
        "cancelled": 0,
        "stopping": 0,
    }
    answer = member.post(f"{JOBS}cancel/?label=team=vision")

    assert (answer.status_code, answer.json()) == (200, {"cancelled": 2, "stopping": 1})
    assert {job.state for job in Job.objects.filter(pk__in=[job.pk for job in mine])} == {
        "cancelled"
    }
    assert Job.objects.get(pk=kept.pk).state == "queued"
    assert Attempt.objects.get(job=placed).reason == "cancel_requested"
    assert world.nudged == [world.cluster.pk]
    audited = AuditRow.objects.filter(action="job.cancel_many").latest("pk")
    assert audited.changes == {"label": "team=vision", "cancelled": 2, "stopping": 1}
    again = member.post(f"{JOBS}cancel/?label=team=vision").json()
    assert again == {"cancelled": 0, "stopping": 1}


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [("", 422, "filter_missing"), ("?labels=x", 400, "unknown_parameter")],
)
def test_nobody_cancels_everything_by_a_slip(
    member: Api, submit: Submit, query: str, status: int, code: str
) -> None:
    job = submit()
    answer = member.post(f"{JOBS}cancel/{query}")
    assert answer.status_code == status
    assert code in {answer.json()["code"], *(e["code"] for e in answer.json()["errors"])}
    assert Job.objects.get(pk=job.pk).state == "queued"


def test_a_key_is_for_one_filter(member: Api, submit: Submit) -> None:
    submit(labels={"team": "a"})
    headers = {"Idempotency-Key": "k1"}
    first = member.post(f"{JOBS}cancel/?label=team=a", headers=headers)
    replayed = member.post(f"{JOBS}cancel/?label=team=a", headers=headers)
    assert first.json() == replayed.json() == {"cancelled": 1, "stopping": 0}
    other = member.post(f"{JOBS}cancel/?label=team=b", headers=headers)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")


@committing
def test_thousands_of_queued_jobs_are_cancelled_in_seconds(member: Api, world: World) -> None:
    make_jobs(world.cluster, world.ours, 5_000)
    began_s = time.monotonic()
    answer = member.post(f"{JOBS}cancel/?cluster={world.cluster.name}&state=queued")
    assert answer.json() == {"cancelled": 5_000, "stopping": 0}
    assert time.monotonic() - began_s < 5
