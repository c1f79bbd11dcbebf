"""Listing jobs: filters, orderings, pages, and what a reader is shown."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from jobs.models import Job, JobArray, Profile
from scheduler_service.factories import NOW, make_cluster, make_jobs
from tests.api import Api
from tests.jobs.conftest import JOBS, Submit, World


@pytest.fixture
def many(world: World) -> list[Job]:
    """Seven of ours that differ in everything, and one of theirs."""
    other = make_cluster("other")
    profile = Profile.objects.create(tenant=world.ours, name="resnet")
    array = JobArray.objects.create(tenant=world.ours, name="sweep", size=1)
    made = []
    for number in range(7):
        fields: dict[str, Any] = {
            "priority": [50, 10, 90, 50, 10, 90, 50][number],
            "submitted_at": NOW - timedelta(minutes=number),
        }
        if number == 3:
            fields |= {"profile": profile, "array": array, "array_index": 0}
        if number == 4:
            fields |= {"state": "failed", "ended_at": NOW}
        made += make_jobs(other if number == 5 else world.cluster, world.ours, 1, **fields)
    Job.objects.filter(pk=made[6].pk).update(name="odd")
    make_jobs(world.cluster, world.theirs, 1)
    return made


def listed(api: Api, query: str = "") -> list[int]:
    answer = api.get(f"{JOBS}{query}")
    assert answer.status_code == 200, answer.content
    return [item["id"] for item in answer.json()["items"]]


def at(many: list[Job], *numbers: int) -> list[int]:
    return [many[number].pk for number in numbers]


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        ("", (6, 5, 4, 3, 2, 1, 0)),
        ("?ordering=id", (0, 1, 2, 3, 4, 5, 6)),
        ("?ordering=-submitted_at", (0, 1, 2, 3, 4, 5, 6)),
        ("?ordering=submitted_at", (6, 5, 4, 3, 2, 1, 0)),
        ("?ordering=-priority", (5, 2, 6, 3, 0, 4, 1)),
        ("?ordering=priority", (1, 4, 0, 3, 6, 2, 5)),
        ("?state=failed", (4,)),
        ("?state=running", ()),
        ("?cluster=other", (5,)),
        ("?cluster=nowhere", ()),
        ("?name=odd", (6,)),
        ("?name=od", ()),
        ("?profile=resnet", (3,)),
        ("?profile=theirs", ()),
        ("?priority=90&cluster=demo", (2,)),
        ("?tenant=ours&state=failed", (4,)),
        ("?tenant=theirs", ()),
        ("?submitted_after=2026-01-05T11:58:00Z", (2, 1, 0)),
        ("?submitted_before=2026-01-05T11:55:00Z", (6,)),
    ],
)
def test_filters_and_orderings(
    member: Api, many: list[Job], query: str, numbers: tuple[int, ...]
) -> None:
    assert listed(member, query) == at(many, *numbers)


def test_the_jobs_of_an_array(member: Api, many: list[Job]) -> None:
    assert listed(member, f"?array={many[3].array_id}") == at(many, 3)


@pytest.mark.parametrize("ordering", ["id", "-id", "priority", "-priority", "-submitted_at"])
def test_pages_join_without_gap_or_overlap(member: Api, many: list[Job], ordering: str) -> None:
    whole = listed(member, f"?ordering={ordering}")
    seen, cursor = [], ""
    while True:
        page = member.get(f"{JOBS}?ordering={ordering}&limit=2{cursor}").json()
        seen += [item["id"] for item in page["items"]]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert seen == whole
    assert len(whole) == 7


@pytest.mark.parametrize(
    "query",
    [
        "?limit=0",
        "?limit=1000000000",
        "?limit=x",
        "?ordering=name",
        "?state=idle",
        "?priority=-1",
        "?priority=9999999999999999999999",
        "?submitted_after=yesterday",
        "?submitted_after=2026-01-05",
        "?colour=red",
        "?state=queued&state=failed",
        "?name=",
        "?array=1.5",
    ],
)
def test_bad_parameters_are_refused_by_name(member: Api, many: list[Job], query: str) -> None:
    answer = member.get(f"{JOBS}{query}")
    assert answer.status_code == 400, answer.content
    (error,) = answer.json()["errors"]
    assert error["pointer"] == "?" + query[1:].partition("=")[0]


def test_operators_see_everybodys(operator: Api, many: list[Job]) -> None:
    assert len(listed(operator)) == 8
    assert len(listed(operator, "?tenant=theirs")) == 1
    assert listed(operator, "?tenant=nobody") == []


def test_only_its_tenant_sees_the_names_in_env(member: Api, operator: Api, submit: Submit) -> None:
    job = submit(env={"B_TOKEN": "s3cret", "A": "s3cret"})
    for path in (JOBS, f"{JOBS}{job.pk}/"):
        ours, theirs = member.get(path), operator.get(path)
        assert b"s3cret" not in ours.content + theirs.content
        assert b"B_TOKEN" not in theirs.content
    assert member.get(f"{JOBS}{job.pk}/").json()["env_keys"] == ["A", "B_TOKEN"]
    assert operator.get(f"{JOBS}{job.pk}/").json()["env_keys"] is None


def test_unchanged_is_304(member: Api, submit: Submit) -> None:
    url = f"{JOBS}{submit().pk}/"
    tag = member.get(url)["ETag"]
    assert member.get(url, headers={"If-None-Match": tag}).status_code == 304


@pytest.mark.parametrize(
    ("where", "index"),
    [
        ("tenant_id = {tenant} ORDER BY id DESC", "job_by_tenant"),
        ("tenant_id = {tenant} ORDER BY submitted_at DESC, id DESC", "job_of_tenant_by_time"),
        ("tenant_id = {tenant} ORDER BY priority, id", "job_of_tenant_by_priority"),
        ("tenant_id = {tenant} AND name = 'x' ORDER BY id DESC", "job_of_tenant_by_name"),
        ("true ORDER BY id", "jobs_job_pkey"),
        ("true ORDER BY submitted_at, id", "job_by_time"),
        ("true ORDER BY priority DESC, id DESC", "job_by_priority"),
        ("state = 'failed' ORDER BY id DESC", "job_by_state"),
        ("profile_id = 7 ORDER BY id DESC", "job_by_profile"),
    ],
)
@pytest.mark.slow
def test_a_page_starts_in_the_middle_of_an_index(world: World, where: str, index: str) -> None:
    """With sorting forbidden a plan without its index would cost more than any with one.

    The planner must know of many rows: on an empty table every index costs the same.
    """
    make_jobs(world.cluster, [world.ours, *[world.theirs] * 39], 1200)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE jobs_job")
        cursor.execute(
            "SET LOCAL enable_sort = off; SET LOCAL enable_incremental_sort = off;"
            "SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off"
        )
        query = where.format(tenant=world.ours.pk)
        cursor.execute(f"EXPLAIN SELECT * FROM jobs_job WHERE {query} LIMIT 100")
        plan = "\n".join(row[0] for row in cursor.fetchall())
    assert f"using {index} on jobs_job" in plan
    assert "Sort" not in plan
