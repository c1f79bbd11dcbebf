"""Closes what authentication opened, whatever happened in between."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

from tenancy import rls
from tenancy.authentication import SCOPE_OPENED, close_scope, scope_opens


class ScopeMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        try:
            if request.path.startswith("/admin/") and request.user.is_staff:
                scope_opens(request)
                rls.set_scope(rls.ALL)
            return self.get_response(request)
        finally:
            if getattr(request, SCOPE_OPENED, False):
                close_scope()
