"""The second wall: what a connection may see, whatever a queryset forgets."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection, transaction
from django.db.models import Model

from tenancy import rls, selectors, services
from tenancy.authentication import login
from tenancy.callers import SYSTEM
from tenancy.models import ApiToken, AuditRow, Membership, Tenant
from tenancy.roles import Role
from tenancy.token_text import hash_of
from tests.api import Api
from tests.tenancy.conftest import ApiFor, World, new_token

OWNED: list[tuple[type[Model], str]] = [
    (Tenant, "id"),
    (Membership, "tenant_id"),
    (ApiToken, "tenant_id"),
    (AuditRow, "tenant_id"),
]


@pytest.fixture
def full(world: World) -> World:
    """Rows of both tenants in every table."""
    user = User.objects.create_user("ada")
    for tenant in (world.ours, world.theirs):
        services.membership_create(
            SYSTEM, tenant_id=tenant.pk, username=user.username, role="member"
        )
        new_token(Role.MEMBER, tenant)
    return world


@pytest.fixture(autouse=True)
def _scope_restored(db: None) -> Iterator[None]:
    yield
    rls.set_scope(rls.ALL)


def test_the_role_of_the_tests_is_subject_to_it(db: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user")
        assert cursor.fetchone() == (False,)


@pytest.mark.parametrize(("model", "column"), OWNED)
def test_a_tenant_scope_sees_its_rows_only(full: World, model: Any, column: str) -> None:
    assert set(model.objects.values_list(column, flat=True)) >= {full.ours.pk, full.theirs.pk}
    rls.set_scope(str(full.ours.pk))
    assert set(model.objects.values_list(column, flat=True)) == {full.ours.pk}


@pytest.mark.parametrize(("model", "column"), OWNED)
@pytest.mark.parametrize("scope", ["none", "", "ALL", "0", "-1", "1 OR true", "9" * 40, "7.0"])
def test_any_other_scope_sees_nothing(full: World, model: Any, column: str, scope: str) -> None:
    rls.set_scope(scope)
    assert model.objects.count() == 0


def test_a_connection_without_the_setting_sees_nothing(full: World) -> None:
    """As psql would: the parameter does not exist at all."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('fairwatt.never_set', true) IS NULL")
        assert cursor.fetchone() == (True,)
        cursor.execute(f"SELECT {rls.SEES_ALL.replace('scope', 'never_set')}")
        assert cursor.fetchone() == (None,)
        cursor.execute(f"SELECT {rls.SCOPE_TENANT.replace('scope', 'never_set')}")
        assert cursor.fetchone() == (None,)


@pytest.mark.parametrize("model", [Tenant, Membership, ApiToken])
def test_foreign_rows_cannot_be_changed(full: World, model: Any) -> None:
    column = "id" if model is Tenant else "tenant_id"
    rls.set_scope(str(full.ours.pk))
    assert model.objects.filter(**{column: full.theirs.pk}).update(**{column: full.ours.pk}) == 0
    with transaction.atomic():
        assert model.objects.filter(**{column: full.theirs.pk})._raw_delete("default") == 0


def test_rows_cannot_be_given_to_another_tenant(full: World) -> None:
    rls.set_scope(str(full.ours.pk))
    with pytest.raises(DatabaseError, match="row-level security"), transaction.atomic():
        Membership.objects.filter(tenant_id=full.ours.pk).update(tenant_id=full.theirs.pk)
    with pytest.raises(DatabaseError, match="row-level security"), transaction.atomic():
        ApiToken.objects.create(
            name="x", role="member", tenant_id=full.theirs.pk, hash=b"x" * 32, prefix="x"
        )


def test_login_works_while_nothing_is_visible(full: World) -> None:
    token = new_token(Role.MEMBER, full.ours)
    rls.set_scope(rls.NONE)
    assert ApiToken.objects.count() == 0
    caller = login(hash_of(token.secret))
    assert caller is not None
    assert (caller.token_id, caller.tenant_id) == (token.pk, full.ours.pk)
    assert _scope() == str(full.ours.pk)


@pytest.mark.parametrize(
    ("role", "scope"), [(Role.OPERATOR, "all"), (Role.NODE, "none"), (Role.ATTEMPT, "none")]
)
def test_the_scope_of_roles_without_tenant(world: World, role: Role, scope: str) -> None:
    token = new_token(role)
    rls.set_scope(rls.NONE)
    assert login(hash_of(token.secret)) is not None
    assert _scope() == scope


def test_a_failed_login_leaves_nothing_visible(full: World) -> None:
    assert login(b"?" * 32) is None
    assert _scope() == "none"


def _scope() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('fairwatt.scope')")
        return str(cursor.fetchone()[0])


def test_a_scope_is_put_back(db: None) -> None:
    with rls.scope("5"):
        assert _scope() == "5"
    assert _scope() == "all"
    with pytest.raises(RuntimeError), rls.scope("5"):
        raise RuntimeError
    assert _scope() == "all"


@pytest.mark.parametrize("path", ["/api/v1/tenants/", "/api/v1/tenants/999/", "/api/v1/nowhere/"])
def test_the_scope_ends_with_the_request(member: Api, path: str) -> None:
    member.get(path)
    assert _scope() == "all"  # what this process starts with; in the API process it is none


PATHS = ["/api/v1/tenants/", "/api/v1/memberships/", "/api/v1/tokens/", "/api/v1/audit/"]


@pytest.fixture(params=["both walls", "row-level security alone"])
def walls(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "row-level security alone":
        monkeypatch.setattr(selectors, "first_wall", lambda rows, own: rows)
    return str(request.param)


@pytest.mark.parametrize("path", PATHS)
def test_lists_hold_no_foreign_row(full: World, api_for: ApiFor, path: str, walls: str) -> None:
    items = api_for(Role.ADMIN).get(path).json()["items"]
    column = "id" if path == "/api/v1/tenants/" else "tenant_id"
    assert {item[column] for item in items} == {full.ours.pk}


@pytest.mark.parametrize("path", PATHS)
def test_foreign_ids_do_not_exist(full: World, api_for: ApiFor, path: str, walls: str) -> None:
    theirs = api_for(Role.ADMIN, full.theirs).get(path).json()["items"][0]["id"]
    ours = api_for(Role.ADMIN)
    headers = {"If-Match": "*"}
    url = f"{path}{theirs}/"
    assert ours.get(url).status_code == 404
    if path in {"/api/v1/memberships/", "/api/v1/tokens/"}:
        assert ours.delete(url, headers).status_code == 404
    if path == "/api/v1/memberships/":
        assert ours.patch(url, {"role": "admin"}, headers).status_code == 404
    if path == "/api/v1/tokens/":
        assert ours.post(f"{url}rotate/").status_code == 404


@pytest.mark.parametrize("path", ["/api/v1/memberships/", "/api/v1/tokens/"])
def test_nothing_is_made_for_another_tenant(
    full: World, api_for: ApiFor, path: str, walls: str
) -> None:
    User.objects.create_user("bob")
    body = {"role": "member", "tenant_id": full.theirs.pk}
    body |= {"username": "bob"} if "memberships" in path else {"name": "x"}
    answer = api_for(Role.ADMIN).post(path, body)
    assert (answer.status_code, answer.json()["code"]) == (409, "unknown_tenant")
