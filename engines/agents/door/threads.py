"""What runs on the door's threads sees all rows, for as long as it runs."""

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from tenancy.authentication import close_scope
from tenancy.rls import ALL, set_scope

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def for_agents(
    act: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Result:
    """Agents act for no tenant; what they may touch is their own node's."""
    set_scope(ALL)
    try:
        return act(*args, **kwargs)
    finally:
        close_scope()


def by_view(view: Callable[[HttpRequest], HttpResponseBase | None], request: HttpRequest) -> Any:
    """A view that opens the scope of its caller itself."""
    try:
        return view(request)
    finally:
        close_scope()
