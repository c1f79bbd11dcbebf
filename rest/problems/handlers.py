"""Where Django and DRF hand over whatever left a view, or never reached one."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse

from rest.problems.shape import Forbidden, NotFound, Problem, path_of, response
from rest.problems.translate import problem_from


def exception_handler(error: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """DRF's hook."""
    problem = problem_from(error)
    if problem.status_code == 405:
        problem.headers["Allow"] = ", ".join(context["view"].allowed_methods)
    return response(problem, path_of(context["request"]))


def handler400(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return response(Problem("The request is malformed."), path_of(request))


def handler403(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return response(Forbidden("You may not do this."), path_of(request))


def handler404(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    detail = "There is nothing at this address; /api/v1/schema/ lists what there is."
    return response(NotFound(detail), path_of(request))


def handler500(request: HttpRequest) -> HttpResponse:
    detail = "Something broke on our side; it is logged. Retry later and quote the request_id."
    return response(Problem(detail, code="internal_error", status=500), path_of(request))
