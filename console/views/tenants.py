"""Tenants: all of them for operators, and the page of one."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone

from console.pages import reads, show
from console.query import number
from console.reads.jobs import PAGE
from console.reads.tenant import tenant_page, tenant_view
from tenancy import selectors
from tenancy.callers import Caller
from tenancy.sessions import session_memberships


@reads("tenants.write")
def tenants(request: HttpRequest, caller: Caller) -> HttpResponse:
    found = list(tenant_page(caller, before=number(request, "after"))[: PAGE + 1])
    following = found[PAGE - 1].pk if len(found) > PAGE else None
    return show(request, caller, "tenants.html", {"tenants": found[:PAGE], "next": following})


@reads("tenants.read")
def tenant(request: HttpRequest, caller: Caller, tenant_id: int) -> HttpResponse:
    row = get_object_or_404(selectors.tenants(caller), pk=tenant_id)
    view = tenant_view(caller, row, now=timezone.now())
    own = [] if caller.tenant_id is None else session_memberships(request)
    return show(request, caller, "tenant.html", {"view": view, "memberships": own})
