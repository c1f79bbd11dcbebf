"""Lists: cursors, orderings, filters and their refusals."""

import base64
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test.utils import CaptureQueriesContext

from rest.json import encode
from tests.api import Api


@pytest.fixture
def groups(db: None) -> list[Group]:
    return Group.objects.bulk_create(Group(name=f"g{n:02}") for n in range(25))


def _walk(api: Api, query: str) -> list[str]:
    names, cursor = [], ""
    for _ in range(100):
        page = api.get(f"/groups/?{query}{cursor}").json()
        names += [item["name"] for item in page["items"]]
        if page["next"] is None:
            return names
        cursor = f"&cursor={page['next']}"
    pytest.fail("the list never ended")


@pytest.mark.parametrize("ordering", ["id", "-id", "name", "-name"])
@pytest.mark.parametrize("limit", [1, 7, 25, 1000])
def test_pages_hold_every_row_once_in_order(
    api: Api, groups: list[Group], ordering: str, limit: int
) -> None:
    names = [group.name for group in groups]
    wanted = names[::-1] if ordering.startswith("-") else names
    assert _walk(api, f"ordering={ordering}&limit={limit}") == wanted


def test_the_default_is_newest_first(api: Api, groups: list[Group]) -> None:
    assert _walk(api, "limit=10") == [group.name for group in groups][::-1]


def test_rows_added_while_paging_shift_nothing(api: Api, groups: list[Group]) -> None:
    first = api.get("/groups/?limit=10").json()
    Group.objects.create(name="late")
    second = api.get(f"/groups/?limit=10&cursor={first['next']}").json()
    seen = [item["name"] for item in first["items"] + second["items"]]
    assert seen == [f"g{n:02}" for n in range(24, 4, -1)]


def test_a_page_is_one_query_without_count_or_offset(api: Api, groups: list[Group]) -> None:
    first = api.get("/groups/?limit=10&ordering=name").json()
    with CaptureQueriesContext(
        connection,
    ) as queries:
        api.get(f"/groups/?limit=10&ordering=name&cursor={first['next']}")
    assert len(queries) == 1
    sql = queries[0]["sql"]
    assert "OFFSET" not in sql
    assert "COUNT" not in sql
    assert '("auth_group"."name", "auth_group"."id") > (' in sql.replace('(("auth', '("auth')


@pytest.mark.parametrize("limit", ["0", "-1", "1001", "1000000000", "1e3", "x", "", "1.0", "٣"])
def test_bad_limits(api: Api, limit: str) -> None:
    answer = api.get(f"/groups/?limit={limit}")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_limit")
    assert answer.json()["errors"][0]["pointer"] == "?limit"


def _cursor(*parts: Any) -> str:
    return base64.urlsafe_b64encode(encode(parts)).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    ["x", "", "%2f%2f", "é", _cursor(), _cursor("-id"), _cursor("-id", 1, 2), _cursor("id", 1),
     _cursor("-id", "x"), _cursor("-id", 10**30), _cursor("-id", None), _cursor("-id", [1]),
     _cursor("-password", "a", 1), "A" * 10_000],
)  # fmt: skip
def test_forged_cursors(api: Api, cursor: str) -> None:
    answer = api.get(f"/groups/?cursor={cursor}")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_cursor")


def test_a_cursor_with_nul(api: Api) -> None:
    answer = api.get(f"/groups/?ordering=name&cursor={_cursor('name', 'a' + chr(0), 1)}")
    assert answer.json()["code"] == "invalid_cursor"


@pytest.mark.parametrize("ordering", ["password", "", "--id", "id,name", "-", "id__x"])
def test_bad_orderings(api: Api, ordering: str) -> None:
    answer = api.get(f"/groups/?ordering={ordering}")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_ordering")


def test_filters(api: Api, groups: list[Group]) -> None:
    assert _walk(api, "name=g03") == ["g03"]
    assert _walk(api, f"above={groups[22].pk}&ordering=id") == ["g23", "g24"]


@pytest.mark.parametrize(
    ("query", "code", "pointer"),
    [
        ("colour=red", "unknown_parameter", "?colour"),
        ("name__contains=g", "unknown_parameter", "?name__contains"),
        ("format=json", "unknown_parameter", "?format"),
        ("limit=1&limit=2", "repeated_parameter", "?limit"),
        ("name=a&name=b", "repeated_parameter", "?name"),
        ("above=x", "invalid", "?above"),
        ("above=-1", "invalid", "?above"),
        ("above=9223372036854775808", "invalid", "?above"),
        ("name=", "invalid", "?name"),
        ("name=" + "x" * 201, "invalid", "?name"),
    ],
)
def test_bad_parameters(api: Api, query: str, code: str, pointer: str) -> None:
    answer = api.get(f"/groups/?{query}")
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == pointer
    assert answer.json()["errors"][0]["code"] == code


def test_unknown_parameters_list_the_known(api: Api) -> None:
    detail = api.get("/groups/?nmae=x").json()["detail"]
    assert "name, above, limit, cursor, ordering" in detail


def test_only_lists_have_list_parameters(api: Api, groups: list[Group]) -> None:
    assert api.get(f"/groups/{groups[0].pk}/?limit=1").json()["code"] == "unknown_parameter"
    assert api.post("/groups/?limit=1", {"name": "a"}).json()["code"] == "unknown_parameter"


def test_parameters_of_other_operations(api: Api) -> None:
    assert api.get("/cars/?speed=5").json() == {"speed": 5}
    assert api.get("/cars/").json() == {}
    assert api.get("/cars/?speed=x").json()["errors"][0]["pointer"] == "?speed"
    assert api.get("/cars/?limit=5").json()["code"] == "unknown_parameter"
