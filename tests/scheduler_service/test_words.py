"""The OpenAPI document says what everything is, once each, and an index says where it is."""

import json
from collections import Counter
from typing import Any

import pytest
from django.test import Client
from drf_spectacular.generators import SchemaGenerator

from scheduler_service.words import TAGS, WORDS


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    generated: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return generated


def _operations(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [operation for methods in schema["paths"].values() for operation in methods.values()]


def _fields(schema: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (name, field, said)
        for name, component in schema["components"]["schemas"].items()
        for field, said in component.get("properties", {}).items()
    ]


def test_every_operation_has_a_summary_of_its_own(schema: dict[str, Any]) -> None:
    summaries = Counter(operation["summary"] for operation in _operations(schema))
    assert [summary for summary, times in summaries.items() if times > 1] == []
    assert {"Submit a job", "List switches", "Read a switch", "Delete a carbon series"} <= {
        *summaries
    }


def test_every_operation_stands_in_a_group_with_an_introduction(schema: dict[str, Any]) -> None:
    used = {tag for operation in _operations(schema) for tag in operation["tags"]}
    assert used == {tag["name"] for tag in TAGS} == {tag["name"] for tag in schema["tags"]}


def test_every_field_is_described(schema: dict[str, Any]) -> None:
    bare = [f"{name}.{field}" for name, field, said in _fields(schema) if "description" not in said]
    assert bare == []


def test_no_word_is_left_over(schema: dict[str, Any]) -> None:
    names = {field for _, field, _ in _fields(schema)}
    names |= {f"{name}.{field}" for name, field, _ in _fields(schema)}
    assert WORDS.keys() - names == set()


def test_a_list_of_values_is_published_once(schema: dict[str, Any]) -> None:
    components = schema["components"]["schemas"]
    assert components["JobState"]["enum"][0] == "queued"
    assert "fairwatt" in components["PolicyName"]["enum"]
    state = components["JobOut"]["properties"]["state"]
    assert state["allOf"] == [{"$ref": "#/components/schemas/JobState"}]


def test_items_of_a_bulk_submit_have_a_type(schema: dict[str, Any]) -> None:
    jobs = schema["components"]["schemas"]["JobsBulk"]["properties"]["jobs"]
    assert jobs["items"] == {"$ref": "#/components/schemas/JobSpec"}


def test_the_front_names_the_doors(client: Client) -> None:
    links = client.get("/").json()["links"]
    assert links["api"] == "/api/v1/"
    assert links["docs"] == "/docs/"


def test_the_index_names_what_there_is(client: Client) -> None:
    links = client.get("/api/v1/").json()["links"]
    assert links["jobs"] == "/api/v1/jobs/"
    assert links["gpu_types"] == "/api/v1/gpu-types/"
    assert all(link.startswith("/api/v1/") and "(" not in link for link in links.values())
    assert not any("agent" in link for link in links.values())


def test_an_index_is_only_read(client: Client) -> None:
    answer = client.post("/")
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")


def test_the_document_is_json_for_whoever_asks_for_json(client: Client) -> None:
    answer = client.get("/api/v1/schema/", headers={"Accept": "application/json"})
    assert answer.status_code == 200
    assert json.loads(answer.content)["servers"][0]["url"] == "/"
