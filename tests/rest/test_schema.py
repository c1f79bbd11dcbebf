"""The OpenAPI document: complete, valid, and the same words the service enforces."""

from collections.abc import Iterator
from typing import Any

import pytest
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema

Operation = tuple[str, str, dict[str, Any]]


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    GENERATOR_STATS.reset()
    generated: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return generated


@pytest.fixture(scope="module")
def operations(schema: dict[str, Any]) -> list[Operation]:
    return list(_operations(schema))


def _operations(schema: dict[str, Any]) -> Iterator[Operation]:
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def test_it_is_valid_and_without_warnings(schema: dict[str, Any]) -> None:
    validate_schema(schema)  # type: ignore[no-untyped-call]
    assert not GENERATOR_STATS._warn_cache
    assert not GENERATOR_STATS._error_cache


def test_operation_ids_are_unique_and_stable(operations: list[Operation]) -> None:
    ids = [operation["operationId"] for _, _, operation in operations]
    assert len(ids) == len(set(ids))
    assert {"tenants_list", "tenants_create", "tokens_rotate", "me_retrieve"} <= set(ids)


def test_every_operation_has_examples(operations: list[Operation]) -> None:
    without = [
        operation["operationId"]
        for _, _, operation in operations
        for media in _json_media(operation)
        if "example" not in media and "examples" not in media
    ]
    assert without == []


def _json_media(operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield from operation.get("requestBody", {}).get("content", {}).values()
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            yield from response.get("content", {}).values()


def test_every_operation_documents_its_refusals(operations: list[Operation]) -> None:
    for path, method, operation in operations:
        wanted = {"400", "429", "500", "503"}
        wanted |= {"404"} if "{" in path else set()
        wanted |= {"409", "413", "415", "422"} if method in {"post", "patch"} else set()
        responses = operation["responses"]
        assert wanted <= set(responses), operation["operationId"]
        problem = responses["400"]["content"]["application/problem+json"]["schema"]
        assert problem == {"$ref": "#/components/schemas/Problem"}


def test_posts_take_an_idempotency_key(operations: list[Operation]) -> None:
    for _, method, operation in operations:
        names = {parameter["name"] for parameter in operation.get("parameters", [])}
        assert ("Idempotency-Key" in names) == (method == "post"), operation["operationId"]


def test_request_bodies_are_closed(schema: dict[str, Any], operations: list[Operation]) -> None:
    for _, _, operation in operations:
        for media in operation.get("requestBody", {}).get("content", {}).values():
            name = media["schema"].get("$ref", "").rsplit("/", 1)[-1]
            if name:
                assert schema["components"]["schemas"][name]["additionalProperties"] is False, name


def test_lists_are_pages(schema: dict[str, Any], operations: list[Operation]) -> None:
    for _, _, operation in operations:
        if operation["operationId"].endswith("_list"):
            media = operation["responses"]["200"]["content"]["application/json"]
            page = schema["components"]["schemas"][media["schema"]["$ref"].rsplit("/", 1)[-1]]
            assert set(page["properties"]) == {"items", "next"}
            names = {parameter["name"] for parameter in operation["parameters"]}
            assert {"limit", "cursor", "ordering"} <= names


def test_every_operation_wants_a_token_unless_it_says_so(operations: list[Operation]) -> None:
    for _, _, operation in operations:
        if "401" in operation["responses"]:
            assert operation["security"] == [{"bearer": []}], operation["operationId"]


def test_numbers_are_bounded_as_the_fields_are(schema: dict[str, Any]) -> None:
    shapes = schema["components"]["schemas"]
    quota = shapes["TenantCreate"]["properties"]["gpu_quota"]
    assert (quota["minimum"], quota["maximum"], quota["nullable"]) == (0, 1_000_000, True)
    assert shapes["TenantCreate"]["properties"]["name"]["maxLength"] == 63
