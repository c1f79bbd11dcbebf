"""Labels: a tenant's own words for jobs, and lists that are filtered by them."""

from typing import Any

import pytest

from tests.api import Api
from tests.jobs.conftest import JOBS, SUBMIT, Submit

pytestmark = pytest.mark.django_db


def listed(api: Api, query: str) -> list[str]:
    return [job["name"] for job in api.get(f"{JOBS}?{query}").json()["items"]]


def test_jobs_are_found_by_their_labels(member: Api, submit: Submit) -> None:
    submit(name="one", labels={"team": "vision", "run": "nightly"})
    submit(name="two", labels={"team": "speech"})
    submit(name="three")
    assert listed(member, "label=team=vision") == ["one"]
    assert listed(member, "label=team=speech") == ["two"]
    assert listed(member, "label=team=vis") == []
    assert submit(name="four").labels == {}


def test_labels_come_in_bulk_too(member: Api) -> None:
    items = [{**SUBMIT, "name": "b", "labels": {"equals": "a=b"}}]
    assert member.post(f"{JOBS}bulk/", {"jobs": items}).json()["stored"] == 1
    assert listed(member, "label=equals=a%3Db") == ["b"]


@pytest.mark.parametrize(
    ("labels", "pointer"),
    [
        ({"": "x"}, "/labels/"),
        ({"-team": "x"}, "/labels/-team"),
        ({"team": 3}, "/labels/team"),
        ({"team": "x" * 201}, "/labels/team"),
        ({f"n{n}": "x" for n in range(65)}, "/labels"),
        ([], "/labels"),
    ],
)
def test_bad_labels_are_refused_where_they_stand(member: Api, labels: Any, pointer: str) -> None:
    answer = member.post(JOBS, {**SUBMIT, "labels": labels})
    assert answer.status_code == 400
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]


@pytest.mark.parametrize("text", ["team", "=vision", "x=" + "y" * 300])
def test_a_label_is_asked_for_with_its_value(member: Api, text: str) -> None:
    answer = member.get(f"{JOBS}?label={text}")
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "?label")
