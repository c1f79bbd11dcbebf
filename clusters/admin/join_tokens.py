"""Join tokens in the admin: who may join."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from unfold.decorators import display
from unfold.widgets import UnfoldAdminIntegerFieldWidget

from clusters import services
from clusters.join_command import join_command
from clusters.models import JoinToken
from rest.admin import ServiceForm
from rest.services import Values
from tenancy.callers import Caller
from tenancy.staff import StaffAdmin

STATE_LABELS = {"open": "success", "used": "info", "expired": "warning", "revoked": "danger"}


class JoinTokenForm(ServiceForm):
    lifetime_s = forms.IntegerField(
        min_value=60,
        max_value=30 * 86_400,
        initial=86_400,
        label="lifetime in seconds",
        widget=UnfoldAdminIntegerFieldWidget,
    )


@admin.register(JoinToken)
class JoinTokenAdmin(StaffAdmin):
    """Made here once and shown once; afterwards they can only end."""

    form = JoinTokenForm
    list_display = ("prefix", "cluster", "shown_state", "created_at", "expires_at", "used_by")
    list_filter = ("cluster",)
    list_select_related = ("cluster", "used_by")
    search_fields = ("prefix", "cluster__name")
    ordering = ("-id",)
    fields = ("cluster", "partition", "rack", "lifetime_s")
    actions = ("revoke",)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        if obj is None:
            return self.fields
        stands = ("cluster", "partition", "rack")
        return (*stands, "prefix", "created_at", "expires_at", "used_at", "used_by", "revoked_at")

    @display(description="state", label=STATE_LABELS)  # type: ignore[untyped-decorator]
    def shown_state(self, token: JoinToken) -> str:
        if token.revoked_at:
            return "revoked"
        if token.used_at:
            return "used"
        return "expired" if token.expires_at <= timezone.now() else "open"

    def perform_create(self, caller: Caller, values: Values) -> services.NewJoinToken:
        return services.join_token_create(caller=caller, now=timezone.now(), **values)

    def written(self, request: HttpRequest, made: services.NewJoinToken) -> None:
        command = join_command(made.secret, request.build_absolute_uri("/").rstrip("/"))
        text = format_html(
            "Run this on the machine by {} UTC, where the agent is installed. "
            "It is shown this once and works once: <br><code>{}</code>",
            f"{made.token.expires_at:%Y-%m-%d %H:%M}",
            command,
        )
        self.message_user(request, text, messages.WARNING)

    @admin.action(description="Revoke at once", permissions=["act"])
    def revoke(self, request: HttpRequest, queryset: QuerySet[JoinToken]) -> None:
        caller, now = self.caller(request), timezone.now()
        self.for_each(
            request,
            queryset,
            "Revoked",
            lambda token: services.join_token_revoke(caller=caller, token=token, now=now),
        )
