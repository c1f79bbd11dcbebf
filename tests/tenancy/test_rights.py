"""The table of rights, and that every operation asks it."""

from typing import Any

import pytest
from drf_spectacular.generators import EndpointEnumerator

from rest.views import JSONView
from tenancy.roles import RIGHTS, Role, rights_of
from tests.tenancy.conftest import ApiFor

WRITES_OF_MACHINES = [
    "clusters", "partitions", "switches", "racks", "gpu_types", "nodes", "gpus", "tariffs",
    "carbon_series", "join_tokens", "tenants",
]  # fmt: skip


@pytest.mark.parametrize("resource", WRITES_OF_MACHINES)
def test_only_operators_change_machines_and_prices(resource: str) -> None:
    assert RIGHTS[f"{resource}.write"] == {Role.OPERATOR}


@pytest.mark.parametrize("right", ["jobs.submit", "jobs.cancel", "jobs.hold", "jobs.read"])
def test_members_run_jobs(right: str) -> None:
    assert {Role.MEMBER, Role.ADMIN, Role.OPERATOR} == RIGHTS[right]


def test_operators_hold_every_right_of_people() -> None:
    machines = {"agents.sync", "attempts.report"}
    assert set(rights_of(Role.OPERATOR)) == set(RIGHTS) - machines


def test_an_admin_may_whatever_a_member_may() -> None:
    assert set(rights_of(Role.MEMBER)) < set(rights_of(Role.ADMIN))


def _views() -> list[tuple[str, str, Any]]:
    found = []
    for path, _, method, callback in EndpointEnumerator().get_api_endpoints():  # type: ignore[no-untyped-call]
        if issubclass(callback.cls, JSONView):
            found.append((path, method, callback))
    return found


def test_every_operation_names_a_known_right() -> None:
    for path, method, callback in _views():
        if not callback.cls.authentication_classes:
            continue
        action = getattr(callback, "actions", {}).get(method.lower(), method.lower())
        assert callback.cls.rights.get(action) in RIGHTS, f"{method} {path} names no right"


@pytest.mark.parametrize("role", [Role.NODE, Role.ATTEMPT])
@pytest.mark.parametrize("path", ["tenants", "memberships", "tokens", "audit"])
def test_machines_have_no_business_here(api_for: ApiFor, role: Role, path: str) -> None:
    answer = api_for(role).get(f"/api/v1/{path}/")
    assert (answer.status_code, answer.json()["code"]) == (403, "missing_right")


def test_head_and_options_of_plain_views(api_for: ApiFor) -> None:
    api = api_for(Role.MEMBER)
    assert api.send("HEAD", "/api/v1/me/").status_code == 200
    assert api.send("OPTIONS", "/api/v1/me/")["Allow"] == "GET, HEAD, OPTIONS"
    assert api.send("HEAD", "/api/v1/audit/").status_code == 403


def test_a_method_that_does_not_exist_is_405_for_whoever_is_let_in(api_for: ApiFor) -> None:
    answer = api_for(Role.NODE).send("PUT", "/api/v1/tenants/?x=1")
    assert (answer.status_code, answer["Allow"]) == (405, "GET, POST, HEAD, OPTIONS")
