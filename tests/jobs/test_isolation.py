"""Nothing of one tenant's work reaches another, by the querysets or, without them, by the rows."""

import pytest

from jobs.models import Job, JobArray, JobEvent, Profile
from tenancy import rls
from tests.api import Api
from tests.jobs.conftest import JOBS, SUBMIT, World

pytestmark = pytest.mark.django_db
CANARY = "zebra-finch"


@pytest.fixture
def theirs(stranger: Api) -> int:
    """A job, an array and a profile of the other tenant that carry a word of their own."""
    fields = {"name": CANARY, "argv": [CANARY], "env": {"KEY": CANARY}}
    stranger.post("/api/v1/profiles/", {"name": CANARY})
    stranger.post("/api/v1/arrays/", {"name": CANARY, "size": 2, "job": {**SUBMIT, **fields}})
    made = stranger.post(JOBS, {**SUBMIT, **fields, "profile": CANARY})
    assert made.status_code == 201, made.content
    job: int = made.json()["id"]
    return job


def test_no_byte_of_another_tenant_is_sent(member: Api, theirs: int) -> None:
    for path in (
        JOBS,
        f"{JOBS}?tenant=theirs",
        f"{JOBS}?name={CANARY}",
        f"{JOBS}{theirs}/",
        f"{JOBS}{theirs}/explain/",
        f"{JOBS}{theirs}/events/",
        "/api/v1/arrays/",
        "/api/v1/profiles/",
        "/api/v1/attempts/",
    ):
        answer = member.get(path)
        assert CANARY.encode() not in answer.content
        assert answer.json().get("items", []) == []
        assert str(theirs) not in str(answer.json().get("items", ""))


def test_the_rows_themselves_refuse(world: World, theirs: int) -> None:
    """As if every queryset had forgotten its filter."""
    with rls.scope(str(world.ours.pk)):
        for model in (Job, JobArray, JobEvent, Profile):
            assert not model.objects.exists()
        assert Job.objects.filter(pk=theirs).update(priority=1) == 0
    with rls.scope(str(world.theirs.pk)):
        assert Job.objects.count() == 3
    with rls.scope(rls.NONE):
        assert not Job.objects.exists()


def test_an_answer_kept_for_one_is_not_replayed_to_another(
    member: Api, stranger: Api, world: World
) -> None:
    key = {"Idempotency-Key": "shared"}
    first = stranger.post(JOBS, {**SUBMIT, "name": CANARY}, headers=key)
    second = member.post(JOBS, {**SUBMIT, "name": CANARY}, headers=key)
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json()["id"] != second.json()["id"]
    assert Job.objects.get(pk=second.json()["id"]).tenant_id == world.ours.pk
