"""What may be done with a job that waits: change its claims, hold it, release it."""

from decimal import Decimal
from typing import Any

import pytest

from jobs.lifecycle import State, advance
from jobs.models import Job
from scheduler_service.factories import NOW
from scheduling.round import decide
from tenancy.models import AuditRow
from tests.api import Api
from tests.jobs.conftest import JOBS, Submit, World

pytestmark = pytest.mark.django_db
# Rounds and nudges happen outside the transaction that a plain test would be.
committing = pytest.mark.django_db(transaction=True)
ANY = {"If-Match": "*"}


@committing
def test_claims_of_a_queued_job_change(member: Api, submit: Submit, world: World) -> None:
    job = submit(deadline_at="2126-02-01T20:00:00Z")
    world.nudged.clear()
    tag = member.get(f"{JOBS}{job.pk}/")["ETag"]
    changes = {
        "priority": 90,
        "deadline_at": None,
        "tardiness_price_per_h": "2.5",
        "estimated_run_s": 60,
        "work_total": 12.5,
    }
    answer = member.patch(f"{JOBS}{job.pk}/", changes, headers={"If-Match": tag})
    assert answer.status_code == 200, answer.content
    assert answer["ETag"] == f'"job{job.pk}-2"'
    assert answer.json()["tardiness_price_per_h"] == "2.500000"
    job.refresh_from_db()
    assert (job.priority, job.deadline_at, job.estimated_run_s) == (90, None, 60)
    assert (job.tardiness_price_per_h, job.work_total) == (Decimal("2.5"), 12.5)
    assert AuditRow.objects.get(action="job.update").changes["priority"] == 90
    assert world.nudged == [world.cluster.pk]


def test_nothing_sent_changes_nothing(member: Api, submit: Submit) -> None:
    job = submit()
    answer = member.patch(f"{JOBS}{job.pk}/", {}, headers=ANY)
    assert (answer.status_code, answer.json()["version"]) == (200, 1)
    assert not AuditRow.objects.filter(action="job.update").exists()


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({"priority": 101}, 400, "max_value"),
        ({"priority": None}, 400, "null"),
        ({"state": "running"}, 400, "unknown_field"),
        ({"argv": ["x"]}, 400, "unknown_field"),
        ({"deadline_at": "0001-01-01T00:00:00+02:00"}, 400, "rfc3339"),
        ({"deadline_at": "2026-02-01T20:00:00Z"}, 422, "deadline_passed"),
        ({"tardiness_price_per_h": "5.1"}, 409, "price_above_bound"),
    ],
)
def test_refused_changes(
    member: Api, submit: Submit, changes: dict[str, Any], status: int, code: str
) -> None:
    job = submit()
    answer = member.patch(f"{JOBS}{job.pk}/", changes, headers=ANY)
    assert (answer.status_code, answer.json()["errors"][0]["code"]) == (status, code)
    assert Job.objects.get().version == 1


def test_a_stale_tag_is_refused(member: Api, submit: Submit) -> None:
    job = submit()
    tag = member.get(f"{JOBS}{job.pk}/")["ETag"]
    member.patch(f"{JOBS}{job.pk}/", {"priority": 1}, headers={"If-Match": tag})
    answer = member.patch(f"{JOBS}{job.pk}/", {"priority": 2}, headers={"If-Match": tag})
    assert (answer.status_code, answer.json()["code"]) == (412, "precondition_failed")
    assert member.patch(f"{JOBS}{job.pk}/", {"priority": 2}).status_code == 428


@committing
def test_a_held_job_stays_where_it_is(member: Api, submit: Submit, world: World) -> None:
    job = submit()
    held = member.post(f"{JOBS}{job.pk}/hold/")
    assert (held.status_code, held.json()["held"], held.json()["version"]) == (200, True, 2)
    decide(world.cluster.pk, now=NOW)
    assert Job.objects.get().state == State.QUEUED
    world.nudged.clear()

    released = member.post(f"{JOBS}{job.pk}/release/")
    assert (released.json()["held"], released.json()["version"]) == (False, 3)
    assert world.nudged == [world.cluster.pk]
    decide(world.cluster.pk, now=NOW)
    assert Job.objects.get().state == State.PLACED


@pytest.mark.parametrize(("action", "held"), [("hold", True), ("release", False)])
def test_asking_twice_changes_nothing(member: Api, submit: Submit, action: str, held: bool) -> None:
    job = submit(held=held)
    answer = member.post(f"{JOBS}{job.pk}/{action}/")
    assert (answer.status_code, answer.json()["version"]) == (200, 1)
    assert not AuditRow.objects.filter(action=f"job.{action}").exists()


def test_only_queued_jobs_are_changed_held_or_released(member: Api, submit: Submit) -> None:
    job = submit()
    advance([job.pk], sources=[State.QUEUED], to=State.CANCELLED, reason="cancelled", now=NOW)
    for answer in (
        member.patch(f"{JOBS}{job.pk}/", {"priority": 1}, headers=ANY),
        member.post(f"{JOBS}{job.pk}/hold/"),
        member.post(f"{JOBS}{job.pk}/release/"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (409, "job_not_queued")
