"""The parts of the OpenAPI document that every operation shares."""

from http import HTTPStatus
from typing import Any

from rest import etag
from rest.idempotency import HEADER, PATTERN, REPLAY_HEADER
from rest.problems import CONTENT_TYPE
from rest.version import HEADER as VERSION_HEADER

Schema = dict[str, Any]

PROBLEM: Schema = {
    "title": "Problem",
    "type": "object",
    "description": "RFC 9457: what was refused, why, and what to do about it.",
    "required": [
        "type",
        "title",
        "status",
        "code",
        "detail",
        "instance",
        "request_id",
        "errors",
    ],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "code": {"type": "string", "description": "Stable; programs may depend on it."},
        "detail": {"type": "string", "description": "For people."},
        "instance": {"type": "string"},
        "request_id": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["pointer", "code", "detail"],
                "properties": {
                    "pointer": {
                        "type": "string",
                        "description": "RFC 6901 into the body, `?name`, or a header's name.",
                    },
                    "code": {"type": "string"},
                    "detail": {"type": "string"},
                },
            },
        },
    },
}

_ALWAYS = {400, 401, 403, 406, 429, 500, 503}
_BY_METHOD = {
    "POST": {409, 413, 415, 422},
    "PATCH": {409, 413, 415, 422},
    "PUT": {409, 413, 415, 422},
    "DELETE": {409},
}
_TEXT: Schema = {"type": "string"}


def refusals(view: Any, action: str, method: str, *, has_path: bool) -> Schema:
    statuses = _ALWAYS | _BY_METHOD.get(method, set())
    if has_path:
        statuses = statuses | {404}
    if not view.authentication_classes:
        statuses = statuses - {401, 403}
    if action == "list":
        statuses = statuses | {422}
    if _is_conditional(view, action):
        statuses = statuses | {412, 428}
    found = {str(status): _refusal(status) for status in sorted(statuses)}
    if action == "retrieve" and view.etag_prefix:
        found["304"] = {"description": "Not modified since the ETag in If-None-Match."}
    return found


def _refusal(status: int) -> Schema:
    headers = _always()
    if status == 401:
        headers["WWW-Authenticate"] = _header("Always Bearer.")
    if status == 429:
        headers["Retry-After"] = _header("Seconds to wait.")
    return {
        "description": HTTPStatus(status).phrase,
        "headers": headers,
        "content": {CONTENT_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }


def _is_conditional(view: Any, action: str) -> bool:
    return bool(view.etag_prefix) and action in {"partial_update", "destroy"}


def _always() -> dict[str, Schema]:
    return {
        "X-Request-ID": _header("Names this request in our logs."),
        VERSION_HEADER: _header("The version of the service."),
    }


def _header(description: str) -> Schema:
    return {"description": description, "schema": _TEXT}


def success_headers(view: Any, action: str, method: str, status: int) -> Schema:
    headers = _always()
    if view.etag_prefix and action in {"retrieve", "create", "partial_update"}:
        headers["ETag"] = _header("The version, for If-Match and If-None-Match.")
    if action == "create" and status == 201:
        headers["Location"] = _header("Where the new resource is.")
    if method == "POST":
        headers[REPLAY_HEADER] = _header("`true` when the answer was kept from an earlier request.")
    return headers


def header_parameters(view: Any, action: str, method: str) -> list[Schema]:
    if method == "POST":
        text = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": PATTERN}
        about = "Makes the request safe to repeat for 24 hours."
        return [_parameter("header", HEADER, text, about)]
    if _is_conditional(view, action):
        about = "The ETag you read last, or `*` to overwrite whatever is there."
        tag = {"type": "string", "pattern": etag.PATTERN, "example": "*"}
        return [_parameter("header", "If-Match", tag, about, required=True)]
    if action == "retrieve" and view.etag_prefix:
        about = "Answer 304 if the ETag is still this."
        return [_parameter("header", "If-None-Match", {"type": "string"}, about)]
    return []


def query_parameters(view: Any, action: str) -> list[Schema]:
    own = view.query_parameters.get(action, {})
    if action != "list":
        return [_of_filter(name, known) for name, known in own.items()]
    paging = view.pagination_class().get_schema_operation_parameters(view)
    return [
        *(_of_filter(name, known) for name, known in view.list_filters().items()),
        *paging,
        *(_of_filter(name, known) for name, known in own.items()),
    ]


def _of_filter(name: str, known: Any) -> Schema:
    said, required = dict(known.schema), known.required
    parameter = _parameter("query", name, said, known.help_text, required=required)
    if said.get("type") == "array":
        return {**parameter, "style": "form", "explode": False}
    return parameter


def path_parameter(name: str, view: Any) -> Schema:
    """Ids are what the routes accept: at most 18 digits."""
    schema = {"type": "integer", "format": "int64", "minimum": 1, "maximum": 10**18 - 1}
    own = view.path_parameters.get(name, schema)
    return _parameter("path", name, dict(own), "", required=True)


def _parameter(
    place: str, name: str, schema: Schema, description: str, *, required: bool = False
) -> Schema:
    parameter = {"name": name, "in": place, "required": required, "schema": schema}
    return {**parameter, "description": description} if description else parameter
