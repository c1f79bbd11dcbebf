"""Checks the right that a view names for the action asked for."""

from typing import Any

from rest_framework.exceptions import NotAuthenticated
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from rest.problems import Forbidden
from tenancy.callers import Caller


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
            raise Forbidden(detail, code="missing_right")
        if caller.suspended and request.method not in SAFE_METHODS:
            detail = "Your tenant is suspended: it may read, but not change anything."
            raise Forbidden(detail, code="tenant_suspended")
        return True
