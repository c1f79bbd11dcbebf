"""Signing in and out, and what a session opens."""

from datetime import timedelta
from io import StringIO

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from console import links
from tenancy.models import Membership
from tests.console.conftest import signed_in
from tests.jobs.conftest import World

SIGN_IN = "/console/sign-in/"


@pytest.fixture
def person(world: World) -> User:
    return User.objects.create_user("ada", password="right")


def test_signs_in_and_out(person: User, world: World) -> None:
    Membership.objects.create(user=person, tenant=world.ours)
    browser = Client(enforce_csrf_checks=True)
    assert browser.get(SIGN_IN).status_code == 200
    form = {"username": "ada", "password": "right", "next": "/console/queue/"}
    token = {"csrfmiddlewaretoken": browser.cookies["csrftoken"].value}
    assert browser.post(SIGN_IN, form).status_code == 403
    answer = browser.post(SIGN_IN, {**form, **token})
    assert (answer.status_code, answer["Location"]) == (302, "/console/queue/")
    home = browser.get("/console/")
    assert home["Location"] == reverse("console:tenant", args=[world.ours.pk])
    token = {"csrfmiddlewaretoken": browser.cookies["csrftoken"].value}
    assert browser.post("/console/sign-out/", token).status_code == 302
    assert browser.get("/console/queue/").status_code == 302


def test_a_wrong_password_is_said_so(person: User) -> None:
    answer = Client().post(SIGN_IN, {"username": "ada", "password": "wrong"})
    assert answer.status_code == 401


@pytest.mark.parametrize("wanted", ["//evil.example/", "https://evil.example/", "javascript:1"])
def test_nobody_is_sent_elsewhere(person: User, wanted: str) -> None:
    form = {"username": "ada", "password": "right", "next": wanted}
    assert Client().post(SIGN_IN, form)["Location"] == "/console/"


def test_who_belongs_to_no_tenant_sees_nothing(person: User) -> None:
    browser = Client()
    browser.force_login(person)
    assert browser.get("/console/queue/").status_code == 403


def test_a_person_of_two_tenants_chooses(world: World) -> None:
    browser = signed_in("ada", world.ours)
    person = User.objects.get(username="ada")
    assert browser.post("/console/choose-tenant/", {"tenant": world.theirs.pk}).status_code == 404
    Membership.objects.create(user=person, tenant=world.theirs)
    assert browser.post("/console/choose-tenant/", {"tenant": world.theirs.pk}).status_code == 302
    there = reverse("console:tenant", args=[world.theirs.pk])
    assert browser.get("/console/")["Location"] == there
    assert browser.get(there).status_code == 200


def test_a_part_of_a_page_takes_the_page_to_the_sign_in(client: Client, db: None) -> None:
    answer = client.get("/console/site/live/", headers={"HX-Request": "true"})
    assert (answer.status_code, answer["HX-Redirect"]) == (204, SIGN_IN)


def test_the_session_cookie_is_no_scripts(person: User, settings: LazySettings) -> None:
    answer = Client().post(SIGN_IN, {"username": "ada", "password": "right"})
    assert answer.cookies["sessionid"]["httponly"]


def made_link(name: str) -> str:
    out = StringIO()
    call_command("console_link", name, url="http://testserver/", stdout=out)
    return out.getvalue().strip().removeprefix("http://testserver")


def test_a_link_signs_in_once(person: User, world: World) -> None:
    Membership.objects.create(user=person, tenant=world.ours)
    path = made_link("ada")
    browser = Client()
    # To look at it is not to use it.
    assert browser.get(path).status_code == 200
    assert browser.get("/console/queue/").status_code == 302
    assert browser.post(path)["Location"] == "/console/"
    assert browser.get("/console/queue/").status_code == 200
    assert Client().post(path).status_code == 403


def test_links_that_do_not_open(person: User, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made_link("ada")
    assert Client().post(path[:-3] + "xx/").status_code == 403
    with monkeypatch.context() as later:
        later.setattr(links, "LIFETIME", timedelta(seconds=-1))
        assert Client().post(path).status_code == 403
    User.objects.update(is_active=False)
    assert Client().post(path).status_code == 403
    with pytest.raises(CommandError):
        made_link("nobody")
