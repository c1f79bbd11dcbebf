"""Turns an exception into the problem it means to a caller."""

from collections.abc import Iterator, Mapping
from typing import Any

import structlog
from django.core.exceptions import (
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
    TooManyFieldsSent,
)
from django.db import DataError, IntegrityError, OperationalError, connection
from django.db.models import ProtectedError, RestrictedError
from django.http import Http404
from rest_framework import exceptions

from rest import constraints
from rest.json import UnreadableError
from rest.pointers import pointer
from rest.problems.shape import Conflict, Fault, Forbidden, Invalid, NotFound, Problem

log = structlog.get_logger(__name__)

UNAUTHENTICATED = "Send a valid token as `Authorization: Bearer TOKEN`."
_LOCK_NOT_AVAILABLE, _DEADLOCK, _QUERY_CANCELED = "55P03", "40P01", "57014"


def problem_from(error: Exception) -> Problem:  # noqa: PLR0911 - a table in code
    match error:
        case Problem():
            return error
        case exceptions.ValidationError():
            return Invalid(
                "The request does not fit the schema; `errors` says where.",
                errors=list(faults(error.detail)),
            )
        case exceptions.APIException():
            return _from_rest_framework(error)
        case UnreadableError():
            return Invalid.at(error.at, error.code, error.detail)
        case Http404():
            return NotFound()
        case PermissionDenied():
            return Forbidden("You may not do this.")
        case RequestDataTooBig():
            return too_large()
        case SuspiciousOperation() | TooManyFieldsSent():
            return Problem("The request is malformed.", code="bad_request")
        case ProtectedError() | RestrictedError():
            return Conflict("Other rows still refer to this one; remove them first.", code="in_use")
        case IntegrityError() | DataError() | OperationalError():
            return _from_database(error)
    return unexpected(error)


def unexpected(error: Exception) -> Problem:
    log.error("unexpected_exception", exc_info=error)
    return Problem(
        "Something broke on our side; it is logged. Retry later and quote the request_id.",
        code="internal_error",
        status=500,
    )


def too_large() -> Problem:
    return Problem(
        "The body is larger than this service accepts; send it in smaller parts.",
        code="body_too_large",
        status=413,
    )


def _from_rest_framework(error: exceptions.APIException) -> Problem:
    status = error.status_code
    match error:
        case exceptions.NotAuthenticated() | exceptions.AuthenticationFailed():
            return Problem(
                UNAUTHENTICATED,
                code="unauthenticated",
                status=401,
                headers={"WWW-Authenticate": 'Bearer realm="fairwatt"'},
            )
        case exceptions.MethodNotAllowed():
            detail, code = (
                "This resource does not have that method; see Allow.",
                "method_not_allowed",
            )
        case exceptions.NotAcceptable():
            detail, code = "Only application/json can be answered.", "not_acceptable"
        case exceptions.UnsupportedMediaType():
            detail, code = "Send the body as application/json.", "unsupported_media_type"
        case exceptions.NotFound():
            return NotFound()
        case _:
            detail, code = str(error.detail), str(error.default_code)
    return Problem(detail, code=code, status=status)


def _from_database(error: Exception) -> Problem:
    diagnosis = getattr(error.__cause__, "diag", None)
    state = getattr(diagnosis, "sqlstate", None)
    if isinstance(error, IntegrityError):
        rule = constraints.rule_for(getattr(diagnosis, "constraint_name", None))
        if rule is None:
            return unexpected(error)
        return Problem(
            rule.detail,
            code=rule.code,
            status=409,
            errors=[Fault(rule.pointer, rule.code, rule.detail)],
        )
    if isinstance(error, DataError):
        log.warning("value_out_of_range", sqlstate=state)
        return Invalid("A value is outside what can be stored.", code="out_of_range")
    if state in {_LOCK_NOT_AVAILABLE, _DEADLOCK, _QUERY_CANCELED}:
        return Problem(
            "Another writer holds what this request needs; retry.",
            code="busy",
            status=409,
            headers={"Retry-After": "1"},
        )
    log.error("database_unavailable", exc_info=error)
    if connection.connection is not None and connection.connection.closed:
        connection.close()
    return Problem(
        "The database is not reachable; retry in a few seconds.",
        code="unavailable",
        status=503,
        headers={"Retry-After": "5"},
    )


def faults(detail: Any, path: tuple[str | int, ...] = ()) -> Iterator[Fault]:  # noqa: ANN401
    """DRF's nested error detail, flattened to pointers."""
    if isinstance(detail, Mapping):
        for key, item in detail.items():
            yield from faults(item, path if key == "non_field_errors" else (*path, key))
    elif isinstance(detail, list):
        for index, item in enumerate(detail):
            # A list of texts is several faults of one value; a list of lists or maps is by index.
            below = path if isinstance(item, str) else (*path, index)
            yield from faults(item, below)
    else:
        yield Fault(pointer(path), str(getattr(detail, "code", "invalid")), str(detail))
