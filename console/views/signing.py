"""Signing in and out, and choosing among one's tenants."""

from django.conf import settings
from django.contrib.auth import login, logout
from django.contrib.auth.forms import AuthenticationForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_POST

from console.links import person_of
from console.pages import acts, reads, refusal, show
from rest.problems import Forbidden, NotFound
from tenancy.callers import Caller
from tenancy.roles import TENANT_ROLES
from tenancy.sessions import CHOSEN, session_memberships


@sensitive_post_parameters("password")
def sign_in(request: HttpRequest) -> HttpResponse:
    form = AuthenticationForm(request, data=request.POST or None)
    if request.method == "POST" and form.is_valid():
        login(request, form.get_user())
        return HttpResponseRedirect(_next(request))
    status = 200 if request.method == "GET" else 401
    return show(request, None, "sign_in.html", {"form": form, "next": _next(request)}, status)


def link(request: HttpRequest, text: str) -> HttpResponse:
    """A button first: programs that look at links in messages must not use them up."""
    person = person_of(text)
    if person is None:
        detail = "This link is wrong, older than ten minutes, or was used already."
        return refusal(request, None, Forbidden(detail))
    if request.method != "POST":
        return show(request, None, "link.html", {"person": person})
    login(request, person, backend=settings.AUTHENTICATION_BACKENDS[0])
    return HttpResponseRedirect(reverse("console:home"))


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return HttpResponseRedirect(reverse("console:sign-in"))


@reads("me.read")
def home(request: HttpRequest, caller: Caller) -> HttpResponse:
    """Operators begin with the site, members with their tenant."""
    if caller.role in TENANT_ROLES:
        return HttpResponseRedirect(reverse("console:tenant", args=[caller.tenant_id]))
    return HttpResponseRedirect(reverse("console:site"))


@acts("me.read")
def choose_tenant(request: HttpRequest, caller: Caller) -> HttpResponse:
    wanted = request.POST.get("tenant", "")
    own = {str(row.tenant_id): row.tenant_id for row in session_memberships(request)}
    if wanted not in own:
        raise NotFound
    request.session[CHOSEN] = own[wanted]
    return HttpResponseRedirect(reverse("console:home"))


@reads("me.read")
def nothing(request: HttpRequest, caller: Caller, rest: str) -> HttpResponse:
    raise NotFound("There is no such page.")


def _next(request: HttpRequest) -> str:
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    safe = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if safe else reverse("console:home")
