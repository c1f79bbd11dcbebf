"""RFC 9457 problems: the one shape in which anything is ever refused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Self

import structlog
from django.http import HttpRequest, HttpResponse
from rest_framework.exceptions import APIException

from rest.json import encode

CONTENT_TYPE = "application/problem+json"
# Nobody reads more, and a body of a thousand wrong items would be answered by a larger one.
MOST_FAULTS = 100


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong; `pointer` is RFC 6901 into the body, `?name` in the query, or a header."""

    pointer: str
    code: str
    detail: str


class Problem(APIException):
    """Raise it anywhere below a view; the caller sees exactly these words."""

    status_code = 400
    code = "bad_request"

    def __init__(
        self,
        detail: str,
        *,
        code: str | None = None,
        status: int | None = None,
        errors: Sequence[Fault] = (),
        headers: Mapping[str, str] | None = None,
        extensions: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.text = detail
        self.status_code = status or self.status_code
        self.code = code or self.code
        self.errors = tuple(errors)
        self.headers = dict(headers or {})
        # Further members of the document, as RFC 9457 allows them.
        self.extensions = dict(extensions or {})

    @classmethod
    def at(cls, pointer: str, code: str, detail: str) -> Self:
        """A problem with one fault, whose code and words are also the whole's."""
        return cls(detail, code=code, errors=[Fault(pointer, code, detail)])

    def __str__(self) -> str:
        return f"{self.status_code} {self.code}: {self.text}"


class Invalid(Problem):
    """The input breaks the published schema."""

    code = "invalid"


class NotFound(Problem):
    status_code = 404
    code = "not_found"

    def __init__(
        self,
        detail: str = "There is no such resource, or it is not yours.",
        **facts: Any,
    ) -> None:
        super().__init__(detail, **facts)


class Conflict(Problem):
    """Well formed, but the present state refuses it."""

    status_code = 409
    code = "conflict"


class Contradiction(Problem):
    """Each value fits the schema, together they make no sense."""

    status_code = 422
    code = "contradiction"


class Forbidden(Problem):
    status_code = 403
    code = "forbidden"


def request_id() -> str:
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))


def response(problem: Problem, instance: str) -> HttpResponse:
    body: dict[str, Any] = {
        "type": "about:blank",
        "title": HTTPStatus(problem.status_code).phrase,
        "status": problem.status_code,
        "code": problem.code,
        "detail": problem.text,
        "instance": instance,
        "request_id": request_id(),
        "errors": [
            {"pointer": fault.pointer, "code": fault.code, "detail": fault.detail}
            for fault in problem.errors[:MOST_FAULTS]
        ],
        **problem.extensions,
    }
    if len(problem.errors) > MOST_FAULTS:
        body["errors_left_out"] = len(problem.errors) - MOST_FAULTS
    return HttpResponse(
        encode(body),
        status=problem.status_code,
        content_type=CONTENT_TYPE,
        headers=problem.headers,
    )


def path_of(request: HttpRequest) -> str:
    """The path as it was asked for, made safe to print."""
    return request.path.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")
