"""People in the Django admin, who act as operators."""

from django.http import HttpRequest

from rest.admin import ActingAdmin, ServiceAdmin
from tenancy.callers import Caller, staff


def caller_of(request: HttpRequest) -> Caller:
    return staff(request.user.pk)


class StaffActs(ActingAdmin):
    """Mix it into any page of rest.admin: its services are called by the person who clicks."""

    def caller(self, request: HttpRequest) -> Caller:
        return caller_of(request)


class StaffAdmin(StaffActs, ServiceAdmin):
    """Rows that staff writes, through services."""
