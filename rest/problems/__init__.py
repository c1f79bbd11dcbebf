"""RFC 9457 problems: the one shape in which anything is ever refused."""

from rest.problems.handlers import (
    exception_handler,
    handler400,
    handler403,
    handler404,
    handler500,
)
from rest.problems.shape import (
    CONTENT_TYPE,
    Conflict,
    Contradiction,
    Fault,
    Forbidden,
    Invalid,
    NotFound,
    Problem,
    request_id,
    response,
)
from rest.problems.translate import problem_from, too_large, unexpected

__all__ = [
    "CONTENT_TYPE",
    "Conflict",
    "Contradiction",
    "Fault",
    "Forbidden",
    "Invalid",
    "NotFound",
    "Problem",
    "exception_handler",
    "handler400",
    "handler403",
    "handler404",
    "handler500",
    "problem_from",
    "request_id",
    "response",
    "too_large",
    "unexpected",
]
