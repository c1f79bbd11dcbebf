"""Ten thousand at once: the good ones are stored, each bad one says what a single submit would."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.models import Job, JobDependency, JobEvent
from tenancy.models import AuditRow
from tests.api import Api
from tests.jobs.conftest import JOBS, SUBMIT, Submit, World

BULK = f"{JOBS}bulk/"


def bulk(api: Api, *items: Any) -> dict[str, Any]:
    answer = api.post(BULK, {"jobs": list(items)})
    assert answer.status_code == 200, answer.content
    shown: dict[str, Any] = answer.json()
    return shown


def test_good_ones_are_stored_and_bad_ones_explained(member: Api, world: World) -> None:
    shown = bulk(
        member,
        {**SUBMIT, "name": "first"},
        {**SUBMIT, "gpus": 0},
        {**SUBMIT, "cluster": "nowhere"},
        {**SUBMIT, "min_gpus": 3, "max_gpus": 2},
        {**SUBMIT, "tenant": "theirs"},
        {**SUBMIT, "depends_on": [{"job": 99}]},
        {**SUBMIT, "name": "last"},
    )
    assert (shown["stored"], shown["refused"]) == (2, 5)
    assert [item["index"] for item in shown["items"]] == list(range(7))
    assert [item["status"] for item in shown["items"]] == [201, 400, 409, 422, 409, 409, 201]
    assert [
        item["problem"] and item["problem"]["errors"][0]["pointer"] for item in shown["items"]
    ] == [
        None,
        "/jobs/1/gpus",
        "/jobs/2/cluster",
        "/jobs/3/min_gpus",
        "/jobs/4/tenant",
        "/jobs/5/depends_on/0/job",
        None,
    ]
    names = dict(Job.objects.values_list("pk", "name"))
    assert [names.get(item["id"]) for item in shown["items"]] == ["first", *[None] * 5, "last"]


@pytest.mark.parametrize(
    "fields",
    [
        {"gpus": 0},
        {"name": None},
        {"argv": ["a", 1]},
        {"cluster": "nowhere"},
        {"partition": "nowhere"},
        {"env": {"1": "x"}},
        {"gpus": 1, "min_gpus": 1, "max_gpus": 1},
        {"depends_on": [{"job": 7}]},
        {"unheard": "of"},
    ],
)
def test_an_item_is_refused_like_a_single_submit(member: Api, fields: dict[str, Any]) -> None:
    alone = member.post(JOBS, {**SUBMIT, **fields})
    (item,) = bulk(member, {**SUBMIT, **fields})["items"]
    problem = alone.json()
    assert item["status"] == alone.status_code
    assert (item["problem"]["code"], item["problem"]["detail"]) == (
        problem["code"],
        problem["detail"],
    )
    expected = [{**error, "pointer": f"/jobs/0{error['pointer']}"} for error in problem["errors"]]
    assert item["problem"]["errors"] == expected


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/jobs"),
        ({"jobs": []}, "/jobs"),
        ({"jobs": {}}, "/jobs"),
        ({"jobs": [None]}, "/jobs/0"),
        ({"jobs": [SUBMIT] * 10_001}, "/jobs"),
        ({"jobs": [SUBMIT], "job": 1}, "/job"),
    ],
)
def test_what_is_no_list_of_jobs_is_refused_whole(member: Api, body: Any, pointer: str) -> None:
    answer = member.post(BULK, body)
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert not Job.objects.exists()


@pytest.mark.slow
def test_ten_thousand_take_as_many_round_trips_as_two(member: Api) -> None:
    bulk(member, SUBMIT)  # what warnings know of the cluster is read once in a while
    with CaptureQueriesContext(connection) as two:
        bulk(member, *[SUBMIT] * 2)
    with CaptureQueriesContext(connection) as many:
        shown = bulk(member, *[SUBMIT] * 10_000)
    assert shown["stored"] == 10_000
    assert len(many) == len(two) + 1  # old plans are forgotten, once
    assert Job.objects.count() == JobEvent.objects.count() == 10_003
    ids = [item["id"] for item in shown["items"]]
    assert ids == sorted(ids)


def test_one_audit_row_tells_of_all(member: Api, world: World) -> None:
    shown = bulk(member, *[{**SUBMIT, "env": {"A": "s3cret"}}] * 3)
    row = AuditRow.objects.get(action="job.submit_bulk")
    ids = [item["id"] for item in shown["items"]]
    assert row.changes == {"jobs": 3, "first_id": ids[0], "last_id": ids[-1]}
    assert row.tenant_id == world.ours.pk


def test_nothing_stored_is_not_audited(member: Api) -> None:
    assert bulk(member, {})["refused"] == 1
    assert not AuditRow.objects.filter(action="job.submit_bulk").exists()


def test_operators_submit_for_several_tenants(operator: Api, world: World) -> None:
    shown = bulk(operator, {**SUBMIT, "tenant": "ours"}, {**SUBMIT, "tenant": "theirs"}, SUBMIT)
    assert [item["status"] for item in shown["items"]] == [201, 201, 422]
    owners = set(Job.objects.values_list("tenant_id", flat=True))
    assert owners == {world.ours.pk, world.theirs.pk}
    audited = AuditRow.objects.filter(action="job.submit_bulk").values_list("tenant_id", flat=True)
    assert set(audited) == owners


def test_a_repeated_request_stores_nothing_twice(member: Api) -> None:
    for _ in range(2):
        answer = member.post(BULK, {"jobs": [SUBMIT] * 3}, headers={"Idempotency-Key": "night"})
        assert answer.json()["stored"] == 3
    assert Job.objects.count() == 3


def test_items_depend_on_jobs_that_are_there(member: Api, submit: Submit) -> None:
    earlier = submit()
    shown = bulk(member, *[{**SUBMIT, "depends_on": [{"job": earlier.pk}]}] * 3)
    assert shown["stored"] == 3
    assert JobDependency.objects.filter(on_job=earlier).count() == 3
    assert set(Job.objects.exclude(pk=earlier.pk).values_list("unmet_dependencies", flat=True)) == {
        1
    }


def test_a_flood_of_dependencies_is_refused(member: Api, submit: Submit) -> None:
    one = {**SUBMIT, "depends_on": [{"job": submit().pk}]}
    many = {**SUBMIT, "depends_on": [{"job": pk} for pk in range(1, 101)]}
    answer = member.post(BULK, {"jobs": [one, *[many] * 1000]})
    assert (answer.status_code, answer.json()["code"]) == (422, "too_many_dependencies")
