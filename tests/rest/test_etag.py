"""ETags: who has not seen the current version may not overwrite it."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.test import RequestFactory

from rest import etag
from rest.problems import Problem

CURRENT = '"job42-7"'


def _request(**headers: str) -> Any:
    return RequestFactory().get("/", headers=headers)


def test_the_tag_names_row_and_version() -> None:
    assert etag.etag("job", SimpleNamespace(pk=42, version=7)) == CURRENT


@pytest.mark.parametrize("given", [CURRENT, "*", f'"job42-6", {CURRENT}', f'"a",{CURRENT}'])
def test_a_match(given: str) -> None:
    etag.expect_match(_request(**{"If-Match": given}), CURRENT)


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ('"job42-6"', 412),
        ('"job4-27"', 412),
        ("job42-7", 400),
        (f"W/{CURRENT}", 400),
        ("", 400),
        ("* ", 400),
        ('"' + "x" * 101 + '"', 400),
    ],
)
def test_no_match(given: str, status: int) -> None:
    with pytest.raises(Problem) as refused:
        etag.expect_match(_request(**{"If-Match": given}), CURRENT)
    assert refused.value.status_code == status


def test_a_missing_header() -> None:
    with pytest.raises(Problem) as refused:
        etag.expect_match(_request(), CURRENT)
    assert (refused.value.status_code, refused.value.code) == (428, "precondition_required")


@pytest.mark.parametrize(
    ("given", "unchanged"),
    [(CURRENT, True), (f"W/{CURRENT}", True), ("*", True), ('"job42-6"', False), ("junk", False)],
)
def test_if_none_match(given: str, unchanged: bool) -> None:
    assert etag.is_unchanged(_request(**{"If-None-Match": given}), CURRENT) is unchanged
    assert not etag.is_unchanged(_request(), CURRENT)
