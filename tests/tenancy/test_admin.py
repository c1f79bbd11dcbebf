"""The Django admin of tenancy, as an operator uses it."""

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tenancy.models import ApiToken, AuditRow, Membership, Tenant
from tenancy.roles import Role
from tests.api import Api
from tests.queries import queries
from tests.tenancy.conftest import World, new_token

pytestmark = pytest.mark.slow

ME = "/api/v1/me/"


@pytest.fixture
def person(db: None) -> User:
    return User.objects.create_superuser("root", password="x")


@pytest.fixture
def browser(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def _act(browser: Client, model: str, action: str, *ids: int) -> Any:
    return browser.post(
        f"/admin/tenancy/{model}/",
        {"action": action, "_selected_action": [str(i) for i in ids]},
        follow=True,
    )


@pytest.mark.parametrize("model", ["tenant", "membership", "apitoken", "auditrow", "auditseal"])
def test_lists_open_and_search(browser: Client, world: World, model: str) -> None:
    new_token(Role.MEMBER, world.ours)
    Membership.objects.create(tenant=world.ours, user=User.objects.create_user("ada"))
    assert browser.get(f"/admin/tenancy/{model}/").status_code == 200
    assert browser.get(f"/admin/tenancy/{model}/?q=1").status_code == 200


def test_strangers_and_tenants_stay_outside(world: World) -> None:
    assert Client().get("/admin/tenancy/tenant/").status_code == 302
    plain = Client()
    plain.force_login(User.objects.create_user("plain"))
    assert plain.get("/admin/tenancy/tenant/").status_code == 302
    token = new_token(Role.OPERATOR)
    assert Api(token.secret).get("/admin/tenancy/tenant/").status_code == 302


def test_a_tenant_is_made_and_audited(browser: Client, person: User) -> None:
    form = {"name": "lab", "display_name": "Lab", "weight": "1"}
    assert browser.post("/admin/tenancy/tenant/add/", form).status_code == 302
    row = AuditRow.objects.latest("id")
    assert (row.action, row.user_id, row.token_id) == ("tenant.create", person.pk, None)
    assert row.changes["name"] == "lab"


def test_a_change_in_the_admin_makes_etags_stale(browser: Client, world: World) -> None:
    form = {"name": "ours", "display_name": "New", "weight": "1"}
    browser.post(f"/admin/tenancy/tenant/{world.ours.pk}/change/", form)
    changed = Tenant.objects.get(pk=world.ours.pk)
    assert (changed.display_name, changed.version) == ("New", 2)


def test_suspend_and_resume(browser: Client, world: World) -> None:
    _act(browser, "tenant", "suspend", world.ours.pk, world.theirs.pk)
    assert Tenant.objects.filter(suspended=True).count() == 2
    _act(browser, "tenant", "resume", world.ours.pk)
    assert list(Tenant.objects.filter(suspended=True)) == [world.theirs]


def test_a_new_token_shows_its_secret_once(browser: Client, world: World) -> None:
    form = {"name": "ci", "role": "member", "tenant": world.ours.pk}
    page = browser.post("/admin/tenancy/apitoken/add/", form, follow=True)
    secret = _secret(page)
    assert Api(secret).get(ME).json()["tenant_id"] == world.ours.pk
    assert secret.encode() not in browser.get("/admin/tenancy/apitoken/").content


def _secret(page: Any) -> str:
    found = re.search(r"fw_[a-z]_[A-Za-z0-9_-]{43}", page.content.decode())
    assert found is not None
    return found.group()


def test_rotate_and_revoke(browser: Client, world: World) -> None:
    old = new_token(Role.MEMBER, world.ours)
    secret = _secret(_act(browser, "apitoken", "rotate", old.pk))
    assert Api(secret).get(ME).status_code == 200
    _act(browser, "apitoken", "revoke", old.pk)
    assert Api(old.secret).get(ME).status_code == 401
    assert ApiToken.objects.get(pk=old.pk).revoked_at is not None
    dead = _act(browser, "apitoken", "rotate", old.pk)
    assert "no longer alive" in dead.content.decode()


def test_history_is_read_only(browser: Client, world: World) -> None:
    row = AuditRow.objects.latest("id")
    assert browser.get(f"/admin/tenancy/auditrow/{row.pk}/change/").status_code == 200
    assert browser.post(f"/admin/tenancy/auditrow/{row.pk}/change/", {}).status_code == 403
    assert browser.get("/admin/tenancy/auditrow/add/").status_code == 403
    token = new_token(Role.MEMBER, world.ours)
    assert browser.post(f"/admin/tenancy/apitoken/{token.pk}/delete/", {}).status_code == 403


def test_a_refusal_stands_beside_its_field(browser: Client, world: World) -> None:
    before = AuditRow.objects.count()
    form = {"name": "ours", "display_name": "Twin", "weight": "1"}
    page = browser.post("/admin/tenancy/tenant/add/", form)
    assert page.context["adminform"].form.errors == {
        "name": ["Another tenant has this name; choose another."]
    }
    url = f"/admin/tenancy/tenant/{world.ours.pk}/change/"
    Tenant.objects.filter(pk=world.ours.pk).update(gpus_in_use=3)
    page = browser.post(url, {"name": "ours", "display_name": "Ours", "gpu_quota": "2"})
    assert [*page.context["adminform"].form.errors] == ["gpu_quota"]
    assert AuditRow.objects.count() == before


def test_an_emptied_field_has_its_default_again(browser: Client, world: World) -> None:
    Tenant.objects.filter(pk=world.ours.pk).update(weight=3)
    form = {"name": "ours", "display_name": "Ours", "weight": ""}
    browser.post(f"/admin/tenancy/tenant/{world.ours.pk}/change/", form)
    assert Tenant.objects.get(pk=world.ours.pk).weight == 1


def test_a_tenant_is_deleted_through_the_service(browser: Client, world: World) -> None:
    page = browser.post(f"/admin/tenancy/tenant/{world.ours.pk}/delete/", {"post": "yes"})
    assert page.status_code == 302
    assert not Tenant.objects.filter(pk=world.ours.pk).exists()
    row = AuditRow.objects.latest("id")
    assert (row.action, row.object_id, row.changes) == (
        "tenant.delete",
        world.ours.pk,
        {"name": "ours"},
    )


def test_memberships_are_written_through_services(browser: Client, world: World) -> None:
    ada = User.objects.create_user("ada")
    form = {"user": ada.pk, "tenant": world.ours.pk, "role": "member"}
    browser.post("/admin/tenancy/membership/add/", form)
    made = Membership.objects.get(user=ada)
    twin = browser.post("/admin/tenancy/membership/add/", form)
    assert "already belongs to the tenant" in twin.content.decode()
    browser.post(f"/admin/tenancy/membership/{made.pk}/change/", {"role": "admin"})
    changed = Membership.objects.get(pk=made.pk)
    assert (changed.role, changed.version) == ("admin", 2)
    browser.post(f"/admin/tenancy/membership/{made.pk}/delete/", {"post": "yes"})
    rows = AuditRow.objects.filter(object_type="membership").order_by("id")
    assert [(row.action, row.changes) for row in rows] == [
        ("membership.create", {"username": "ada", "role": "member"}),
        ("membership.update", {"role": "admin"}),
        ("membership.delete", {}),
    ]


def test_a_token_of_the_wrong_role_is_refused(browser: Client, world: World) -> None:
    form = {"name": "ci", "role": "operator", "tenant": world.ours.pk}
    page = browser.post("/admin/tenancy/apitoken/add/", form)
    assert [*page.context["adminform"].form.errors] == ["tenant"]
    assert not ApiToken.objects.filter(name="ci").exists()


def test_the_audit_names_who_did_what_and_what_changed(
    browser: Client, person: User, world: World
) -> None:
    form = {"name": "ours", "display_name": "New <i>name</i>", "weight": "2"}
    browser.post(f"/admin/tenancy/tenant/{world.ours.pk}/change/", form)
    token = new_token(Role.ADMIN, world.ours)
    Api(token.secret).post("/api/v1/secrets/", {"name": "key", "value": "hidden"})
    browser.post(f"/admin/tenancy/tenant/{world.theirs.pk}/delete/", {"post": "yes"})
    page = browser.get("/admin/tenancy/auditrow/").content.decode()
    shown = " ".join(re.sub("<[^>]*>", " ", page).split())
    assert "root tenant.update tenant ours ours weight: 2; display_name: New &lt;i&gt;" in shown
    assert "the service token.create API token admin test ours" in shown
    assert "token admin test secret.create secret key ours name: key" in shown
    assert "root tenant.delete tenant theirs" in shown
    assert "hidden" not in shown
    row = AuditRow.objects.filter(action="tenant.update").latest("id")
    single = browser.get(f"/admin/tenancy/auditrow/{row.pk}/change/").content.decode()
    assert "tenant ours" in single


def test_the_audit_asks_as_often_for_many_rows(browser: Client, world: World) -> None:
    path = "/admin/tenancy/auditrow/"
    form = {"display_name": "x", "weight": "1"}
    browser.post("/admin/tenancy/tenant/add/", {**form, "name": "t"})
    browser.get(path)
    few = queries(browser, path)
    for number in range(20):
        browser.post("/admin/tenancy/tenant/add/", {**form, "name": f"t{number}"})
    assert queries(browser, path) == few
