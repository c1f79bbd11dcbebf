"""What the admin pages of the work share."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from unfold.admin import TabularInline

from rest.problems import Problem
from tenancy.admin import ReadOnlyAdmin

STATE_COLOURS = {
    "queued": "info",
    "placed": "info",
    "running": "warning",
    "preempting": "warning",
    "succeeded": "success",
    "failed": "danger",
    "offered": "info",
    "starting": "info",
    "stopping": "warning",
    "ended": "success",
    "lost": "danger",
    "done": "success",
}


class HistoryAdmin(ReadOnlyAdmin):
    """Tables that grow for ever: no count of all rows, newest first."""

    show_full_result_count = False
    list_per_page = 50
    list_filter_submit = True
    ordering = ("-id",)


class ActingAdmin(HistoryAdmin):
    """Rows that change through the services alone; each that refuses says why."""

    def has_act_permission(self, request: HttpRequest) -> bool:
        """Looking takes the right to view, acting the right to change."""
        options = self.opts
        return request.user.has_perm(f"{options.app_label}.change_{options.model_name}")

    def act(
        self,
        request: HttpRequest,
        rows: QuerySet[Any],
        verb: str,
        service: Callable[[Any], object],
    ) -> None:
        done = 0
        for row in rows.order_by("pk"):
            try:
                with transaction.atomic():
                    service(row)
                done += 1
            except Problem as problem:
                self.message_user(request, f"{row}: {problem.text}", messages.ERROR)
        if done:
            self.message_user(request, f"{done} {verb}.", messages.SUCCESS)


class ReadOnlyInline(TabularInline):  # type: ignore[misc]
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
