"""The outermost layer: request ids, bounded bodies, readable addresses."""

import io
from typing import Any

import pytest
from django.test import RequestFactory
from pytest_django import Settings

from rest.middleware import RequestMiddleware
from rest.version import VERSION
from tests.api import Api


@pytest.mark.parametrize("given", ["abc-1", "A.b:c_d", "x" * 100])
def test_a_sane_request_id_is_kept(api: Api, given: str) -> None:
    assert api.get("/groups/", headers={"X-Request-ID": given})["X-Request-ID"] == given


@pytest.mark.parametrize("given", ["", "x" * 101, "a b", "<script>", "é"])
def test_any_other_is_replaced(api: Api, given: str) -> None:
    answer = api.get("/groups/", headers={"X-Request-ID": given})
    assert len(answer["X-Request-ID"]) == 32
    assert answer["Fairwatt-Version"] == VERSION
    assert answer["X-Request-ID"] != given


@pytest.mark.parametrize(
    "path", ["/groups/?name=%00", "/groups/?name=%ff", "/groups/?%c3=1", "/groups/?a=%ed%a0%80"]
)
def test_an_unreadable_query_is_refused(api: Api, path: str) -> None:
    answer = api.get(path)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad_query")


@pytest.mark.parametrize("path", ["/gro%00ups/", "/groups/%ff/"])
def test_an_unreadable_path_is_refused(api: Api, path: str) -> None:
    assert api.get(path).json()["code"] in {"bad_path", "not_found"}


def test_a_large_body_is_refused_by_its_declared_length(api: Api, settings: Settings) -> None:
    settings.MAX_BODY_BYTES = 100
    answer = api.send("POST", "/cars/", b'"' + b"x" * 100 + b'"')
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
    assert api.send("POST", "/cars/", b'{"name": "small"}').status_code == 200


class _Unreadable(io.BytesIO):
    def read(self, *args: Any) -> bytes:
        raise AssertionError("the body was read")


def _through(**environ: Any) -> Any:
    request = RequestFactory().generic("POST", "/", **environ)
    return RequestMiddleware(lambda r: pytest.fail("reached the view"))(request)


def test_a_large_body_is_not_even_read() -> None:
    answer = _through(CONTENT_LENGTH=str(10**12), **{"wsgi.input": _Unreadable()})
    assert answer.status_code == 413


@pytest.mark.parametrize("length", ["-5", "abc", "1e3", "²"])
def test_a_length_that_is_no_number(length: str) -> None:
    assert _through(CONTENT_LENGTH=length).status_code == 400


def test_a_body_without_length_is_read_up_to_the_limit(api: Api, settings: Settings) -> None:
    settings.MAX_BODY_BYTES = 50
    assert _chunked(api, b'{"name": "small"}').json() == {"name": "small"}
    assert _chunked(api, b" " * 51).status_code == 413


def _chunked(api: Api, body: bytes) -> Any:
    environ: dict[str, Any] = {
        "CONTENT_LENGTH": "",
        "CONTENT_TYPE": "application/json",
        "HTTP_TRANSFER_ENCODING": "chunked",
        "wsgi.input": io.BytesIO(body),
    }
    return api.client.generic("POST", "/cars/", **environ)


def test_head_and_options(api: Api) -> None:
    head = api.send("HEAD", "/groups/")
    assert (head.status_code, head.content) == (200, b"")
    options = api.send("OPTIONS", "/groups/")
    assert (options.status_code, options["Allow"]) == (204, "GET, POST, HEAD, OPTIONS")


@pytest.mark.parametrize("path", ["/groups", "/groups/"])
def test_the_slash_at_the_end_is_optional(api: Api, path: str) -> None:
    assert api.get(path).status_code == 200
    assert api.post(path, {"name": "a"})["Location"].startswith("/groups/")
