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
from django.db import (
    DatabaseError,
    DataError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    connection,
)
from django.db.models import ProtectedError, RestrictedError
from django.http import Http404
from rest_framework import exceptions

from rest import constraints
from rest.json import UnreadableError
from rest.pointers import pointer
from rest.problems.shape import Conflict, Fault, Forbidden, Invalid, NotFound, Problem

log = structlog.get_logger(__name__)

UNAUTHENTICATED = "Send a valid token as `Authorization: Bearer TOKEN`."
_INSUFFICIENT_PRIVILEGE = "42501"
# lock_not_available, deadlock_detected, serialization_failure, query_canceled
_RETRY_AT_ONCE = frozenset({"55P03", "40P01", "40001", "57014"})


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
        case DatabaseError() | InterfaceError():
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
    code = "body_too_large"
    detail = "The body is larger than this service accepts; send it in smaller parts."
    return Problem(detail, code=code, status=413, errors=[Fault("", code, detail)])


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
    match error:
        case IntegrityError():
            return _from_constraint(error, getattr(diagnosis, "constraint_name", None))
        case DataError():
            log.warning("value_out_of_range", sqlstate=state)
            return Invalid("A value is outside what can be stored.", code="out_of_range")
    if state == _INSUFFICIENT_PRIVILEGE:
        # Row-level security refused what the querysets let through.
        log.error("row_level_security_refused", exc_info=error)
        return Forbidden("You may not do this.")
    if state in _RETRY_AT_ONCE:
        return Conflict(
            "Another writer holds what this request needs; retry.",
            code="busy",
            headers={"Retry-After": "1"},
        )
    if isinstance(error, OperationalError | InterfaceError):
        return _unavailable(error)
    return unexpected(error)


def _from_constraint(error: Exception, constraint: str | None) -> Problem:
    rule = constraints.rule_for(constraint)
    if rule is None:
        return unexpected(error)
    return Conflict.at(rule.pointer, rule.code, rule.detail)


def _unavailable(error: Exception) -> Problem:
    log.error("database_unavailable", error=type(error).__name__, outage=True)
    connection.close_if_unusable_or_obsolete()
    return Problem(
        "The database is not reachable; retry in a few seconds.",
        code="unavailable",
        status=503,
        headers={"Retry-After": "5"},
    )


def faults(detail: Any, path: tuple[str | int, ...] = ()) -> Iterator[Fault]:
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
