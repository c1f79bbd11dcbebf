"""Arrays: many jobs of one kind, all or none."""

import tracemalloc

import pytest

from jobs.models import Attempt, Job, JobArray
from jobs.sealed_env import opened_env
from scheduler_service.factories import NOW
from scheduling.round import decide
from tenancy.models import AuditRow
from tests.api import Api
from tests.jobs.conftest import JOBS, SUBMIT, Submit, World

pytestmark = pytest.mark.django_db
# Rounds and nudges happen outside the transaction that a plain test would be.
committing = pytest.mark.django_db(transaction=True)
ARRAYS = "/api/v1/arrays/"
LARGE = {f"NOTES_{number}": "x" * 4000 for number in range(15)}


def make(api: Api, size: int = 3, **fields: object) -> int:
    answer = api.post(ARRAYS, {"name": "sweep", "size": size, "job": {**SUBMIT, **fields}})
    assert answer.status_code == 201, answer.content
    made: int = answer.json()["id"]
    assert answer["Location"] == f"{ARRAYS}{made}/"
    return made


@committing
def test_an_array_is_many_jobs_with_indexes(member: Api, world: World) -> None:
    array = make(member, size=4, gpus=2)
    jobs = Job.objects.filter(array=array).order_by("pk")
    assert list(jobs.values_list("array_index", "max_gpus")) == [(i, 2) for i in range(4)]
    shown = member.get(f"{ARRAYS}{array}/").json()
    assert (shown["name"], shown["size"], shown["tenant"]) == ("sweep", 4, "ours")
    assert shown["states"]["queued"] == 4
    assert sum(shown["states"].values()) == 4
    assert AuditRow.objects.get(action="array.submit").changes["size"] == 4
    assert world.nudged == [world.cluster.pk]


@pytest.mark.parametrize(
    ("fields", "status", "pointer"),
    [
        ({"size": 0}, 400, "/size"),
        ({"size": 10_001}, 400, "/size"),
        ({"name": ""}, 400, "/name"),
        ({"job": {**SUBMIT, "gpus": 0}}, 400, "/job/gpus"),
        ({"job": {**SUBMIT, "min_gpus": 1}}, 422, "/job/max_gpus"),
        ({"job": {**SUBMIT, "cluster": "nowhere"}}, 409, "/job/cluster"),
        ({"job": {**SUBMIT, "tenant": "theirs"}}, 409, "/job/tenant"),
        ({"job": {**SUBMIT, "depends_on": [{"job": 5}]}}, 409, "/job/depends_on/0/job"),
    ],
)
def test_a_bad_array_leaves_nothing(
    member: Api, fields: dict[str, object], status: int, pointer: str
) -> None:
    answer = member.post(ARRAYS, {"name": "sweep", "size": 2, "job": SUBMIT, **fields})
    assert answer.status_code == status, answer.content
    assert pointer in [error["pointer"] for error in answer.json()["errors"]]
    assert not Job.objects.exists()
    assert not JobArray.objects.exists()


def test_operators_say_for_whom(operator: Api) -> None:
    answer = operator.post(ARRAYS, {"name": "sweep", "size": 2, "job": SUBMIT})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/job/tenant")
    make(operator, tenant="theirs")
    assert JobArray.objects.get().tenant.name == "theirs"


@committing
def test_cancelling_reaches_every_state(member: Api, submit: Submit, world: World) -> None:
    bystander = submit(held=True)
    array = make(member, size=4, gpus=4)
    decide(world.cluster.pk, now=NOW)
    first, second = Attempt.objects.order_by("pk")
    Attempt.objects.filter(pk=first.pk).update(state=Attempt.State.STARTING)

    answer = member.post(f"{ARRAYS}{array}/cancel/")
    assert (answer.status_code, answer.json()) == (200, {"cancelled": 3, "stopping": 1})
    states = member.get(f"{ARRAYS}{array}/").json()["states"]
    assert (states["cancelled"], states["placed"]) == (3, 1)
    second.refresh_from_db()
    assert second.state == Attempt.State.ENDED
    assert member.get(f"{JOBS}{bystander.pk}/").json()["state"] == "queued"

    again = member.post(f"{ARRAYS}{array}/cancel/")
    assert again.json() == {"cancelled": 0, "stopping": 1}


def test_another_tenants_array_does_not_exist(member: Api, stranger: Api) -> None:
    array = make(member)
    assert stranger.get(ARRAYS).json()["items"] == []
    assert stranger.get(f"{ARRAYS}{array}/").status_code == 404
    assert stranger.post(f"{ARRAYS}{array}/cancel/").status_code == 404
    assert set(Job.objects.values_list("state", flat=True)) == {"queued"}


def test_the_spec_of_an_array_travels_once(member: Api, world: World) -> None:
    """An array of 180 KB took 5.7 GB: every job had a copy on its way to the database."""
    tracemalloc.start()
    try:
        array = make(member, size=200, env=LARGE)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < 10_000_000
    last = Job.objects.filter(array=array).order_by("array_index").last()
    assert last is not None
    assert last.array_index == 199
    assert opened_env(last.sealed_env, "ours") == LARGE


def test_an_array_that_no_table_should_hold_is_refused(member: Api, world: World) -> None:
    job = {**SUBMIT, "env": LARGE}
    answer = member.post(ARRAYS, {"name": "sweep", "size": 10_000, "job": job})
    assert (answer.status_code, answer.json()["code"]) == (422, "array_too_large")
    assert not JobArray.objects.exists()
