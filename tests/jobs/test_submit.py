"""Submitting one job: what is stored, what comes back, and what is refused where."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agent.wire.bounds import LONGEST_IMAGE
from jobs import prepared_statements
from jobs.models import Job, JobEvent, Profile
from jobs.sealed_env import opened_env
from jobs.specs import JobSpec
from tenancy.models import AuditRow
from tests.api import Api
from tests.jobs.conftest import JOBS, SUBMIT, Submit, World

FULL: dict[str, Any] = {
    **SUBMIT,
    "partition": "prod",
    "profile": "resnet",
    "env": {"HF_TOKEN": "s3cret", "LANG": "C"},
    "image": "registry.example/train:1",
    "min_gpus": 2,
    "max_gpus": 4,
    "gpu_types": ["A100"],
    "cpus_per_gpu": 4,
    "memory_mib_per_gpu": 2048,
    "span": "rack",
    "processes": "per_gpu",
    "priority": 70,
    "deadline_at": "2126-02-01T20:00:00+02:00",
    "tardiness_price_per_h": "1.25",
    "estimated_run_s": 600,
    "work_total": 1000,
    "preemptible": False,
    "restartable": False,
    "restart_cost_s": 5,
    "held": True,
}


def test_the_least_that_can_be_said(member: Api, world: World) -> None:
    answer = member.post(JOBS, SUBMIT)
    assert answer.status_code == 201, answer.content
    made = answer.json()
    job = Job.objects.get()
    assert answer["Location"] == f"{JOBS}{job.pk}/"
    assert answer["ETag"] == f'"job{job.pk}-1"'
    assert (made["id"], made["state"], made["reason"]) == (job.pk, "queued", "submitted")
    assert (job.min_gpus, job.max_gpus, job.span, job.priority) == (1, 1, "any", 50)
    assert (job.tenant_id, job.cluster_id) == (world.ours.pk, world.cluster.pk)


def test_everything_that_can_be_said(member: Api, world: World) -> None:
    profile = Profile.objects.create(tenant=world.ours, name="resnet")
    made = member.post(JOBS, FULL)
    assert made.status_code == 201, made.content
    job = Job.objects.get()
    assert (job.partition_id, job.profile_id) == (world.partition.pk, profile.pk)
    assert opened_env(job.sealed_env, "ours") == FULL["env"]
    assert job.argv == FULL["argv"]
    assert job.gpu_types == ["A100"]
    assert job.deadline_at == datetime(2126, 2, 1, 18, tzinfo=UTC)
    assert job.tardiness_price_per_h == Decimal("1.25")
    assert (job.work_total, job.estimated_run_s, job.restart_cost_s) == (1000, 600, 5)
    assert (job.preemptible, job.restartable, job.held) == (False, False, True)
    assert made.json()["deadline_at"] == "2126-02-01T18:00:00Z"


def test_the_answer_is_what_a_later_read_shows(member: Api, world: World) -> None:
    Profile.objects.create(tenant=world.ours, name="resnet")
    made = member.post(JOBS, FULL).json()
    read = member.get(f"{JOBS}{made['id']}/").json()
    assert read.pop("depends_on") == []
    assert [each["code"] for each in made.pop("warnings")] == ["no_nodes"]
    assert made == read


def test_the_first_event_is_told(submit: Submit) -> None:
    job = submit()
    event = JobEvent.objects.get()
    assert (event.job_id, event.tenant_id) == (job.pk, job.tenant_id)
    assert (event.from_state, event.to_state, event.reason) == (None, "queued", "submitted")
    assert event.at == job.submitted_at


def test_the_audit_knows_who_but_no_secret(member: Api, world: World) -> None:
    job_id = member.post(JOBS, {**SUBMIT, "env": {"KEY": "s3cret"}}).json()["id"]
    row = AuditRow.objects.get(action="job.submit")
    assert (row.object_id, row.tenant_id, row.role) == (job_id, world.ours.pk, "member")
    assert "s3cret" not in str(row.changes)


@pytest.mark.django_db(transaction=True)
def test_the_cluster_is_nudged_after_the_commit(member: Api, world: World) -> None:
    member.post(JOBS, SUBMIT)
    assert world.nudged == [world.cluster.pk]


def test_a_submit_takes_few_round_trips(member: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    member.post(JOBS, SUBMIT)
    stored: list[str] = []

    def counted(query: str, values: Any) -> Any:
        stored.append(query)
        return prepared_statements.fetch(query, values)

    monkeypatch.setattr("jobs.services.store.fetch", counted)
    with CaptureQueriesContext(connection) as taken:
        member.post(JOBS, SUBMIT)
    # The job with its event; and the login, the audit, the transaction's begin and end.
    assert (len(stored), len(taken)) == (1, 4), [query["sql"][:60] for query in taken]


def test_each_member_of_a_spec_has_a_column_or_a_reader() -> None:
    columns = {field.column for field in Job._meta.concrete_fields}
    references = {"tenant", "cluster", "partition", "profile"}
    read = {"gpus", "points", "profile_first", "depends_on", "env", "workdir"}
    assert {f"{name}_id" for name in references} <= columns
    assert set(JobSpec.__struct_fields__) - columns == references | read


@pytest.fixture
def their_profile(world: World) -> Profile:
    return Profile.objects.create(tenant=world.theirs, name="theirs")


@pytest.mark.parametrize(
    ("fields", "status", "code", "pointer"),
    [
        ({"cluster": "nowhere"}, 409, "unknown_cluster", "/cluster"),
        ({"partition": "nowhere"}, 409, "unknown_partition", "/partition"),
        ({"profile": "theirs"}, 409, "unknown_profile", "/profile"),
        ({"tenant": "theirs"}, 409, "unknown_tenant", "/tenant"),
        ({"gpus": 1, "min_gpus": 1, "max_gpus": 2}, 422, "gpus_twice", "/gpus"),
        ({"min_gpus": 2}, 422, "gpus_incomplete", "/max_gpus"),
        ({"max_gpus": 2}, 422, "gpus_incomplete", "/min_gpus"),
        ({"min_gpus": 3, "max_gpus": 2}, 422, "gpus_reversed", "/min_gpus"),
        ({"argv": [""]}, 422, "no_program", "/argv/0"),
        ({"argv": ["x" * 30_000] * 5}, 422, "argv_too_large", "/argv"),
        ({"env": {"1A": "x"}}, 422, "invalid_env_name", "/env/1A"),
        ({"env": {"A/B": "x"}}, 422, "invalid_env_name", "/env/A~1B"),
        ({"env": {"A": "é" * 20_000, "B": "é" * 20_000}}, 422, "env_too_large", "/env"),
        ({"deadline_at": "0001-01-01T00:00:00+02:00"}, 400, "rfc3339", "/deadline_at"),
        ({"deadline_at": "2026-02-01T20:00:00Z"}, 422, "deadline_passed", "/deadline_at"),
        (
            {"tardiness_price_per_h": "5.000001"},
            409,
            "price_above_bound",
            "/tardiness_price_per_h",
        ),
        ({"depends_on": [{"job": 1}] * 2}, 422, "duplicate_dependency", "/depends_on/1/job"),
        ({"name": 5}, 400, "invalid", "/name"),
        ({"name": ""}, 400, "blank", "/name"),
        ({"name": "a\nb"}, 400, "pattern", "/name"),
        ({"cluster": "Upper"}, 400, "pattern", "/cluster"),
        ({"gpus": 0}, 400, "min_value", "/gpus"),
        ({"gpus": 10**30}, 400, "max_value", "/gpus"),
        ({"gpus": "2"}, 400, "invalid", "/gpus"),
        ({"gpus": True}, 400, "invalid", "/gpus"),
        ({"gpus": 1.5}, 400, "invalid", "/gpus"),
        ({"priority": 101}, 400, "max_value", "/priority"),
        ({"priority": None}, 400, "null", "/priority"),
        ({"argv": []}, 400, "min_length", "/argv"),
        ({"argv": "python3"}, 400, "not_a_list", "/argv"),
        ({"argv": ["a", 1]}, 400, "invalid", "/argv/1"),
        ({"env": {"A": 1}}, 400, "invalid", "/env/A"),
        ({"gpu_types": ["A100\n"]}, 400, "pattern", "/gpu_types/0"),
        ({"deadline_at": "2026-02-01T20:00:00"}, 400, "rfc3339", "/deadline_at"),
        ({"deadline_at": "tomorrow"}, 400, "rfc3339", "/deadline_at"),
        ({"tardiness_price_per_h": "1e3"}, 400, "notation", "/tardiness_price_per_h"),
        ({"tardiness_price_per_h": 1.5}, 400, "not_text", "/tardiness_price_per_h"),
        ({"span": "galaxy"}, 400, "invalid_choice", "/span"),
        ({"work_total": 0}, 400, "min_value", "/work_total"),
        ({"depends_on": [{"job": 0}]}, 400, "min_value", "/depends_on/0/job"),
        ({"depends_on": [{"kind": "ended"}]}, 400, "required", "/depends_on/0/job"),
        ({"depends_on": [{"job": 1, "x": 1}]}, 400, "unknown_field", "/depends_on/0/x"),
        ({"gpu": 1}, 400, "unknown_field", "/gpu"),
        ({"state": "running"}, 400, "unknown_field", "/state"),
    ],
)
@pytest.mark.usefixtures("their_profile")
def test_refused_with_a_pointer(
    member: Api, fields: dict[str, Any], status: int, code: str, pointer: str
) -> None:
    answer = member.post(JOBS, {**SUBMIT, **fields})
    assert answer.status_code == status, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    errors = answer.json()["errors"]
    assert (pointer, code) in [(error["pointer"], error["code"]) for error in errors]
    assert not Job.objects.exists()
    assert not JobEvent.objects.exists()


def test_every_fault_is_named_at_once(member: Api) -> None:
    answer = member.post(JOBS, {"name": "", "gpus": "2", "zeal": 1})
    pointers = {error["pointer"] for error in answer.json()["errors"]}
    assert pointers == {"/name", "/cluster", "/argv", "/gpus", "/zeal"}


def test_whole_floats_are_integers(submit: Submit) -> None:
    assert submit(gpus=2.0).max_gpus == 2


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"null", b"5", b'"x"', b"{", b"\xff", b'{"name": "\\u0000"}']
)
def test_bodies_that_are_no_job(member: Api, body: bytes) -> None:
    answer = member.send("POST", JOBS, body)
    assert answer.status_code == 400
    assert answer.json()["code"]


def test_operators_say_for_whom(operator: Api, world: World) -> None:
    answer = operator.post(JOBS, SUBMIT)
    assert (answer.status_code, answer.json()["code"]) == (422, "tenant_required")
    unknown = operator.post(JOBS, {**SUBMIT, "tenant": "nobody"})
    assert (unknown.status_code, unknown.json()["code"]) == (409, "unknown_tenant")
    made = operator.post(JOBS, {**SUBMIT, "tenant": "theirs", "env": {"A": "b"}})
    assert made.status_code == 201, made.content
    assert Job.objects.get().tenant_id == world.theirs.pk
    assert made.json()["env_keys"] is None


def test_a_tenant_may_name_itself(submit: Submit, world: World) -> None:
    assert submit(tenant="ours").tenant_id == world.ours.pk


def test_a_suspended_tenant_submits_nothing(member: Api, world: World) -> None:
    world.ours.suspended = True
    world.ours.save()
    assert member.post(JOBS, SUBMIT).json()["code"] == "tenant_suspended"


def test_the_same_key_submits_once(member: Api) -> None:
    first = member.post(JOBS, SUBMIT, headers={"Idempotency-Key": "k"})
    again = member.post(JOBS, SUBMIT, headers={"Idempotency-Key": "k"})
    other = member.post(JOBS, {**SUBMIT, "name": "b"}, headers={"Idempotency-Key": "k"})
    assert (first.status_code, again.status_code, other.status_code) == (201, 201, 422)
    assert first.content == again.content
    assert again["Idempotent-Replay"] == "true"
    assert Job.objects.count() == 1


@pytest.mark.parametrize(
    ("image", "accepted"),
    [
        ("registry.example:5000/team/train@sha256:0a", True),
        ("registry/x+y", False),
        ("-v/:/host", False),
        ("a" * (LONGEST_IMAGE + 1), False),
    ],
)
def test_an_image_that_no_agent_could_read_is_refused_here(
    member: Api, world: World, image: str, *, accepted: bool
) -> None:
    answer = member.post(JOBS, {**SUBMIT, "image": image})
    assert (answer.status_code == 201) is accepted, answer.content
    if not accepted:
        assert [fault["pointer"] for fault in answer.json()["errors"]] == ["/image"]
