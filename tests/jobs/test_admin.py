"""The Django admin of the work, as an operator uses it."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from jobs.models import Attempt, Job, JobArray, Profile
from scheduler_service.factories import NOW
from scheduling.models import Round
from scheduling.round import decide
from tenancy.models import AuditRow
from tests.api import Api
from tests.jobs.conftest import SUBMIT, Submit, World

pytestmark = [pytest.mark.slow, pytest.mark.django_db]
# Rounds and nudges happen outside the transaction that a plain test would be.
committing = pytest.mark.django_db(transaction=True)


@pytest.fixture
def person(world: World) -> User:
    return User.objects.create_superuser("root", password="x")


@pytest.fixture
def browser(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def room_of(model: str) -> str:
    return "scheduling" if model in {"round", "decision"} else "jobs"


def act(browser: Client, model: str, action: str, *ids: int) -> str:
    answer = browser.post(
        f"/admin/{room_of(model)}/{model}/",
        {"action": action, "_selected_action": [str(i) for i in ids]},
        follow=True,
    )
    assert answer.status_code == 200
    return str(answer.content.decode())


@pytest.fixture
def worked(submit: Submit, member: Api, world: World) -> Round:
    """Something in every table."""
    first = submit(name="first", env={"KEY": "s3cret-value"})
    submit(name="second", gpus=8, depends_on=[{"job": first.pk}])
    member.post("/api/v1/arrays/", {"name": "sweep", "size": 2, "job": SUBMIT})
    member.post("/api/v1/profiles/", {"name": "resnet"})
    entry = decide(world.cluster.pk, now=NOW)
    assert entry is not None
    return entry


MODELS = ["job", "jobarray", "profile", "attempt", "jobevent", "round", "decision"]


@committing
@pytest.mark.parametrize("model", MODELS)
def test_lists_and_pages_open(browser: Client, worked: Round, model: str) -> None:
    listing = browser.get(f"/admin/{room_of(model)}/{model}/")
    assert listing.status_code == 200
    assert browser.get(f"/admin/{room_of(model)}/{model}/?q=1").status_code == 200
    links = [
        word
        for word in listing.content.decode().split('"')
        if f"/{room_of(model)}/{model}/" in word
    ]
    page = next(link for link in links if link.rstrip("/").endswith("/change"))
    shown = browser.get(page)
    assert shown.status_code == 200
    assert b"s3cret-value" not in listing.content + shown.content


@committing
@pytest.mark.parametrize("model", [name for name in MODELS if name != "profile"])
def test_history_is_only_read(browser: Client, worked: Round, model: str) -> None:
    assert browser.get(f"/admin/{room_of(model)}/{model}/add/").status_code == 403
    before = Job.objects.count()
    act(browser, model, "delete_selected", *Job.objects.values_list("pk", flat=True))
    assert Job.objects.count() == before


@committing
def test_rounds_show_milliseconds_but_no_blobs(browser: Client, worked: Round) -> None:
    listing = browser.get("/admin/scheduling/round/").content.decode()
    assert f"{worked.plan_ms:.1f}" in listing
    page = browser.get(f"/admin/scheduling/round/{worked.pk}/change/").content.decode()
    assert worked.snapshot_digest in page
    assert "memory at 0x" not in page


@committing
def test_rounds_show_their_gap_once_they_have_one(browser: Client, worked: Round) -> None:
    def listed() -> str:
        return str(browser.get("/admin/scheduling/round/").content.decode())

    assert "37.5%" not in listed()
    Round.objects.filter(pk=worked.pk).update(objective=4.0, bound=2.5, gap=0.375)
    assert "37.5%" in listed()
    page = browser.get(f"/admin/scheduling/round/{worked.pk}/change/").content.decode()
    assert "0.375" in page
    assert "2.5" in page


def test_jobs_are_cancelled_through_the_service(
    browser: Client, person: User, submit: Submit
) -> None:
    one, two = submit(), submit()
    assert "Cancelled or asked to stop: 2." in act(browser, "job", "cancel", one.pk, two.pk)
    assert set(Job.objects.values_list("state", flat=True)) == {"cancelled"}
    rows = AuditRow.objects.filter(action="job.cancel")
    assert list(rows.values_list("user_id", "token_id").distinct()) == [(person.pk, None)]


def test_one_that_refuses_does_not_stop_the_others(browser: Client, submit: Submit) -> None:
    over, queued = submit(name="over"), submit(name="queued")
    act(browser, "job", "cancel", over.pk)
    text = act(browser, "job", "hold", over.pk, queued.pk)
    assert "The job is cancelled" in text
    assert "Held: 1." in text
    queued.refresh_from_db()
    assert queued.held
    act(browser, "job", "release", queued.pk)
    queued.refresh_from_db()
    assert not queued.held


@committing
def test_an_array_is_cancelled_whole(browser: Client, worked: Round) -> None:
    array = JobArray.objects.get()
    act(browser, "jobarray", "cancel", array.pk)
    assert set(Job.objects.filter(array=array).values_list("state", flat=True)) == {"cancelled"}
    live = Attempt.objects.exclude(state__in=("ended", "lost"))
    assert not live.filter(job__array=array).exists()


def test_who_may_only_look_cannot_act(world: World, submit: Submit) -> None:
    job = submit()
    looker = User.objects.create_user("looker", password="x", is_staff=True)
    looker.user_permissions.add(Permission.objects.get(codename="view_job"))
    client = Client()
    client.force_login(looker)
    act(client, "job", "cancel", job.pk)
    job.refresh_from_db()
    assert job.state == "queued"


def save_profile(browser: Client, path: str, **fields: Any) -> Any:
    return browser.post(f"/admin/jobs/profile/{path}/", fields, follow=True)


def test_a_profile_is_made_changed_and_deleted(browser: Client, world: World) -> None:
    save_profile(browser, "add", tenant=world.ours.pk, name="p", dataset_mib="1000")
    profile = Profile.objects.get()
    assert (profile.tenant_id, profile.dataset_mib) == (world.ours.pk, 1000)

    save_profile(browser, f"{profile.pk}/change", name="q", dataset_mib="1000")
    profile.refresh_from_db()
    assert (profile.name, profile.version) == ("q", 2)

    save_profile(browser, f"{profile.pk}/delete", post="yes")
    assert not Profile.objects.exists()
    audited = AuditRow.objects.filter(action__startswith="profile.").order_by("pk")
    assert [row.action for row in audited] == ["profile.create", "profile.update", "profile.delete"]


def test_a_bad_profile_says_where(browser: Client, world: World) -> None:
    answer = save_profile(browser, "add", tenant=world.ours.pk, name="p", dataset_mib="-1")
    assert "Must be above 0." in answer.content.decode()
    assert not Profile.objects.exists()
