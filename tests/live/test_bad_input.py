"""Whatever is sent, the answer is a problem that says where, and nothing is stored."""

from typing import Any

import httpx
import pytest

from tests.live.access import OPERATOR, allowed
from tests.live.conftest import Live
from tests.live.operations import Operation, operations
from tests.live.raw import MIB, RawAnswer, chunked, exchange, head
from tests.live.refusals import PROBLEM, refusal

pytestmark = pytest.mark.usefixtures("nothing_is_stored")
WITH_BODY = [operation for operation in operations() if operation.body is not None]
LISTS = [operation for operation in operations() if "cursor" in operation.query]
EVERY_BODY = pytest.mark.parametrize("operation", WITH_BODY, ids=str)
EVERY_LIST = pytest.mark.parametrize("operation", LISTS, ids=str)


def send(live: Live, operation: Operation, **more: Any) -> httpx.Response:
    caller = "admin" if "admin" in allowed(operation) else OPERATOR
    headers = {"Content-Type": "application/json", **operation.headers(), **more.pop("headers", {})}
    address = operation.address(live.world)
    return live.send(caller, operation.method, address, headers=headers, **more)


# Bodies, over every operation that takes one.

UNREADABLE = {
    "cut off": (b'{"name": "x', "invalid_json"),
    "a comma too many": (b'{"name": "x",}', "invalid_json"),
    "not a number": (b'{"name": NaN}', "invalid_json"),
    "infinity": (b'{"name": 1e400}', None),
    "single quotes": (b"{'name': 'x'}", "invalid_json"),
    "two documents": (b"{}{}", "invalid_json"),
    "a byte order mark": (b"\xef\xbb\xbf{}", "invalid_json"),
    "bad UTF-8": (b'{"name": "\xff\xfe"}', "invalid_utf8"),
    "an overlong NUL": (b'{"name": "\xc0\x80"}', "invalid_utf8"),
    "a surrogate in UTF-8": (b'{"name": "\xed\xa0\x80"}', "invalid_utf8"),
    "half a surrogate pair": (b'{"name": "\\ud800"}', "invalid_json"),
    "UTF-16": ("{}".encode("utf-16"), "invalid_json"),
    "a raw NUL": (b'{"name": "a\x00b"}', "invalid_json"),
    "an escaped NUL": (b'{"name": "a\\u0000b"}', "nul_character"),
    "an escaped NUL in a member's name": (b'{"na\\u0000me": 1}', "nul_character"),
    "the same member twice": (b'{"name": "x", "name": "y"}', "duplicate_key"),
    "10,000 lists": (b"[" * 10_000 + b"]" * 10_000, "too_deep"),
    "10,000 objects": (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "too_deep"),
    "10,000 lists, cut off": (b"[" * 10_000, None),
    "no object": (b"[1]", "invalid"),
    "null": (b"null", None),
    "a text": (b'"{}"', "invalid"),
    "a number of 5,000 digits": (b'{"name": ' + b"9" * 5000 + b"}", None),
}


@EVERY_BODY
def test_unreadable_bodies(live: Live, operation: Operation) -> None:
    for what, (body, code) in UNREADABLE.items():
        problem = refusal(send(live, operation, content=body))
        assert code is None or problem["code"] == code, (what, problem)


@EVERY_BODY
def test_other_media_types(live: Live, operation: Operation) -> None:
    for media_type in ("text/plain", "application/xml", "multipart/form-data; boundary=x", "x"):
        answer = send(live, operation, content=b"{}", headers={"Content-Type": media_type})
        assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


@EVERY_BODY
def test_values_of_the_wrong_type(live: Live, operation: Operation) -> None:
    """Each member of the example, replaced by a value of each type that it cannot have."""
    for name in operation.body:
        said = operation.body_schema["properties"][name]
        for wrong in wrong_values(said):
            answer = send(live, operation, json={**operation.body, name: wrong})
            problem = refusal(answer)
            places = [error["pointer"] for error in problem["errors"]]
            assert all(place.startswith(f"/{name}") for place in places), (wrong, problem)


def wrong_values(said: dict[str, Any]) -> list[Any]:
    kinds: dict[str, list[Any]] = {
        "string": ["x\x7f"],
        "integer": [5, 1.5, 10**30, -(10**30)],
        "number": [1.5],
        "boolean": [True],
        "array": [[[]], [{"x": 1}]],
        "object": [{"x": {"y": 1}}],
    }
    kind = said.get("type") or said.get("allOf", said.get("oneOf", [{}]))[0].get("type", "string")
    fitting = {kind, "integer"} if kind == "number" else {kind}
    return [value for other, values in kinds.items() if other not in fitting for value in values]


@EVERY_BODY
def test_unknown_members(live: Live, operation: Operation) -> None:
    for name in ("nonsense", "id", "__proto__", "a/b~c", "ключ", "x" * 10_000):
        problem = refusal(send(live, operation, json={**operation.body, name: 1}))
        errors = [error for error in problem["errors"] if error["code"] == "unknown_field"]
        escaped = name.replace("~", "~0").replace("/", "~1")
        assert [error["pointer"] for error in errors] == [f"/{escaped}"]


# Query parameters, over every list.


@EVERY_LIST
def test_bad_parameters(live: Live, operation: Operation) -> None:
    cases = {
        "limit": ("1000000000", "0", "-1", "1001", "1e3", "x", "", "9" * 5000),
        "cursor": ("x", "!!", "W10", "bnVsbA", "e30", "WyItaWQiLCBudWxsXQ", "A" * 5000, ""),
        "ordering": ("nonsense", "--id", "id;drop table jobs_job", ""),
        "nonsense": ("1",),
        "format": ("xml",),
    }
    for name, values in cases.items():
        for value in values:
            problem = refusal(send(live, operation, params={name: value}), 400, 422)
            assert problem["errors"][0]["pointer"] == f"?{name}", (name, value, problem)


@EVERY_LIST
def test_a_parameter_given_twice(live: Live, operation: Operation) -> None:
    problem = refusal(send(live, operation, params=[("limit", "1"), ("limit", "2")]))
    assert problem["code"] == "repeated_parameter"


@pytest.mark.parametrize("query", ["name=%00", "name=%ff", "name=%c3", "%ff=1", "limit=%EF%BC%91"])
def test_unreadable_queries(live: Live, query: str) -> None:
    refusal(live.send("admin", "GET", f"/api/v1/jobs/?{query}"))


# Addresses and headers.


@pytest.mark.parametrize(
    "row", ["0x1", "1.0", "-1", "%00", "%ff", "9" * 19, "1%2F2", "%D9%A1", "1;2", "..%2f", "'"]
)
def test_ids_that_are_none(live: Live, row: str) -> None:
    answer = live.send("admin", "GET", f"/api/v1/jobs/{row}/")
    assert answer.status_code in {400, 404}
    assert answer.headers["Content-Type"] == PROBLEM


def test_an_idempotency_key_that_is_none(live: Live) -> None:
    body = {"name": "x", "role": "member"}
    for key in ("", "a b", "x" * 256, "\xff"):
        headers = {"Idempotency-Key": key.encode("latin-1")}
        answer = live.send("admin", "POST", "/api/v1/tokens/", json=body, headers=headers)
        assert refusal(answer)["errors"][0]["pointer"] == "Idempotency-Key"


def test_an_if_match_that_is_none(live: Live) -> None:
    for tag in ("x", '"', "W/*", "\xff", '"a" "b"'):
        headers = {"If-Match": tag.encode("latin-1")}
        profile = f"/api/v1/profiles/{live.world.ours['profiles']}/"
        answer = live.send("admin", "PATCH", profile, json={"points": []}, headers=headers)
        assert refusal(answer)["errors"][0]["pointer"] == "If-Match"


TENANTS = b"/api/v1/tenants/"


def raw(live: Live, target: bytes, *headers: bytes, **more: Any) -> RawAnswer:
    method = more.pop("method", b"POST")
    token = f"Authorization: Bearer {live.world.secrets['operator']}".encode()
    usual = (b"Host: 127.0.0.1", b"Connection: close", token)
    return exchange(live.url, head(method, target, *usual, *headers), **more)


JSON = b"Content-Type: application/json"


@pytest.mark.parametrize(
    ("target", "header"),
    [
        (b"/api/v1/jobs/\x00/", b"X-Plain: 1"),
        (b"/api/v1/jobs/\xff/", b"X-Plain: 1"),
        (b"/api/v1/jobs/?name=\xff", b"X-Plain: 1"),
        (b"/api/v1/jobs/", b"X-Nul: a\x00b"),
        (b"/api/v1/jobs/", b"Content-Length: abc"),
        (b"/api/v1/jobs/", b"Content-Length: -1"),
        (b"/api/v1/jobs/", b"X-Large: " + b"x" * MIB),
        (b"/api/v1/jobs/?name=" + b"x" * MIB, b"X-Plain: 1"),
    ],
)
def test_what_is_not_http_is_refused_by_the_server_itself(
    live: Live, target: bytes, header: bytes
) -> None:
    """It never becomes a request, so there is nothing that could answer with a problem."""
    assert raw(live, target, header, method=b"GET").status in {400, 414, 431}


def test_bytes_in_headers_that_are_not_ascii(live: Live) -> None:
    lines = (b"Host: localhost", b"Authorization: Bearer \xff\xfe", b"Connection: close")
    assert exchange(live.url, head(b"GET", TENANTS, *lines)).status in {400, 401}
    for header in (b"X-Request-ID: \xff", b"If-None-Match: \xff", b"Accept: \xff\xfe"):
        assert raw(live, TENANTS, header, method=b"GET").status < 500


# 100 MB.

HUNDRED = [b"x" * MIB] * 100


def assert_too_large(answer: RawAnswer) -> None:
    assert (answer.status, answer.content_type) == (413, PROBLEM)
    problem = answer.json()
    assert (problem["code"], problem["errors"][0]["pointer"]) == ("body_too_large", "")


def test_100_mb_with_their_length(live: Live) -> None:
    answer = raw(live, TENANTS, JSON, b"Content-Length: %d" % (100 * MIB), chunks=HUNDRED)
    assert_too_large(answer)
    assert answer.sent < 50 * MIB


def test_100_mb_in_chunks(live: Live) -> None:
    answer = raw(live, TENANTS, JSON, b"Transfer-Encoding: chunked", chunks=chunked(HUNDRED))
    assert_too_large(answer)
    assert answer.sent < 80 * MIB


def test_100_mb_after_a_length_of_10(live: Live) -> None:
    """The rest is no part of the request, and no request either."""
    answer = raw(live, TENANTS, JSON, b"Content-Length: 10", chunks=HUNDRED)
    assert (answer.status, answer.json()["code"]) == (400, "invalid_json")


def test_a_body_that_ends_too_early(live: Live) -> None:
    answer = raw(live, TENANTS, JSON, b"Content-Length: 1000", chunks=[b"{"], hang_up=True)
    assert (answer.status, answer.content_type) == (400, PROBLEM)


def test_a_length_beside_chunks(live: Live) -> None:
    """RFC 9112, 6.1: the chunks count."""
    both = (b"Content-Length: 1", b"Transfer-Encoding: chunked")
    answer = raw(live, TENANTS, JSON, *both, chunks=chunked([b'{"nonsense": 1}']))
    assert (answer.status, answer.json()["errors"][0]["pointer"]) == (400, "/nonsense")
