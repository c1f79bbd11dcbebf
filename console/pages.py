"""The frame of every page: who asks, whether they may, and how a refusal looks."""

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import wraps
from typing import Any, Concatenate, ParamSpec
from urllib.parse import urlencode

from django.db import DatabaseError, transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone

from console.kept import forget
from rest.problems import Forbidden, Problem, problem_from
from tenancy.callers import Caller
from tenancy.roles import TENANT_ROLES
from tenancy.sessions import session_caller

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, Caller, P], HttpResponse]
Guarded = Callable[Concatenate[HttpRequest, P], HttpResponse]

# Address, words and the right without which the entry is not shown.
NAVIGATION = (
    ("console:site", "Site", "power.read"),
    ("console:queue", "Queue", "jobs.read"),
    ("console:jobs", "Jobs", "jobs.read"),
    ("console:rounds", "Rounds", "rounds.read"),
    ("console:money", "Money", "statements.read"),
    ("console:tariffs", "Tariffs", "tariffs.write"),
    ("console:tenants", "Tenants", "tenants.write"),
    ("console:what-if", "What if", "simulations.live"),
)


def reads(right: str) -> Callable[[View[P]], Guarded[P]]:
    """A page or a part of one, for those who have the right."""
    return _guarded(right, ("GET", "HEAD"), whole=False)


def acts(right: str, *, whole: bool = True) -> Callable[[View[P]], Guarded[P]]:
    """Something done by a form; Django has checked where the form came from.

    It is one transaction, unless the view has more to do than the write.
    """
    return _guarded(right, ("POST",), whole=whole)


def show(
    request: HttpRequest,
    caller: Caller | None,
    template: str,
    context: Mapping[str, Any] | None = None,
    status: int = 200,
) -> HttpResponse:
    frame = {"caller": caller, "navigation": _navigation(caller), "now": timezone.now()}
    return render(request, f"console/{template}", {**frame, **(context or {})}, status=status)


def refusal(request: HttpRequest, caller: Caller | None, problem: Problem) -> HttpResponse:
    return show(request, caller, "refusal.html", {"problem": problem}, problem.status_code)


def _guarded(
    right: str, methods: tuple[str, ...], *, whole: bool
) -> Callable[[View[P]], Guarded[P]]:
    def decorate(view: View[P]) -> Guarded[P]:
        @wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
            if not request.user.is_authenticated:
                return _sign_in(request)
            caller: Caller | None = None
            try:
                caller = session_caller(request)
                allowed = _allowed(request, caller, right, methods)
                with transaction.atomic() if whole else nullcontext():
                    return view(request, allowed, *args, **kwargs)
            except (Problem, Http404, DatabaseError) as error:
                return refusal(request, caller, problem_from(error))
            finally:
                if request.method == "POST":
                    forget()

        return guarded

    return decorate


def _allowed(
    request: HttpRequest, caller: Caller | None, right: str, methods: tuple[str, ...]
) -> Caller:
    if request.method not in methods:
        detail = "Nothing is done by this method at this address."
        raise Problem(detail, code="method_not_allowed", status=405)
    if caller is None:
        raise Forbidden("You belong to no tenant yet; ask an operator to add you to one.")
    if not caller.may(right):
        raise Forbidden("Your role does not have the right to see or do this.")
    if caller.suspended and request.method == "POST":
        raise Forbidden("Your tenant is suspended: it may read, but not change anything.")
    return caller


def _sign_in(request: HttpRequest) -> HttpResponse:
    if request.headers.get("HX-Request"):
        # A part of a page that outlived its session takes the whole page along.
        return HttpResponse(status=204, headers={"HX-Redirect": reverse("console:sign-in")})
    back = urlencode({"next": request.get_full_path()} if request.method == "GET" else {})
    return HttpResponseRedirect(f"{reverse('console:sign-in')}?{back}")


def _navigation(caller: Caller | None) -> list[tuple[str, str]]:
    if caller is None:
        return []
    found = [(reverse(name), text) for name, text, right in NAVIGATION if caller.may(right)]
    if caller.role in TENANT_ROLES:
        found.insert(0, (reverse("console:tenant", args=[caller.tenant_id]), "Overview"))
    return found
