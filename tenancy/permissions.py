"""Checks the right that a view names for the action asked for."""

import time
from typing import Any

from django.conf import settings
from rest_framework.exceptions import NotAuthenticated
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from rest.problems import Forbidden
from tenancy import audit
from tenancy.callers import Caller
from tenancy.throttles import budgets

# Of each token in the audit: a program that asks in a loop says the same each time.
REFUSALS_PER_MINUTE = 10


class HasRight(BasePermission):
    def has_permission(self, request: Request, view: Any) -> bool:
        caller = request.auth
        if not isinstance(caller, Caller):
            raise NotAuthenticated
        action = view.action_name()
        right = view.rights.get(action)
        if right is None:
            # A method without an action is answered 405 by the view; an action must name a right.
            return not callable(getattr(view, action, None)) or action == "options"
        if not caller.may(right):
            detail = f"A token of role {caller.role} does not have the right {right}."
            raise _refusal(request, caller, right, Forbidden(detail, code="missing_right"))
        if caller.suspended and request.method not in SAFE_METHODS:
            detail = "Your tenant is suspended: it may read, but not change anything."
            raise _refusal(request, caller, right, Forbidden(detail, code="tenant_suspended"))
        return True


def _refusal(request: Request, caller: Caller, right: str, why: Forbidden) -> Forbidden:
    """Of a write, the audit is told: nothing else would show who tried."""
    if request.method not in SAFE_METHODS and _within(caller):
        asked = {"method": request.method, "path": request.path[:200]}
        audit.record(caller, "write.refused", None, {"right": right, "code": why.code, **asked})
    return why


def _within(caller: Caller) -> bool:
    who = f"write_refused:{caller.identity}"
    return budgets(settings.CACHE_URL).take(who, REFUSALS_PER_MINUTE, time.time())
