"""Webhooks for operators: switched off and on, and what they were told."""

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from rest.admin import HistoryAdmin
from tenancy.staff import StaffActs, caller_of
from webhooks import services
from webhooks.models import Webhook, WebhookDelivery


@admin.register(Webhook)
class WebhookAdmin(StaffActs, HistoryAdmin):
    """Made by tenants, who are shown the secret; here they can be stopped."""

    list_display = ("url", "tenant", "enabled", "failing_since", "disabled_reason", "updated_at")
    list_filter = ("enabled", "tenant")
    list_select_related = ("tenant",)
    search_fields = ("url", "tenant__name")
    exclude = ("sealed_secret", "sealed_old_secret")
    actions = ("enable", "disable")

    @admin.action(description="Enable", permissions=["act"])
    def enable(self, request: HttpRequest, queryset: QuerySet[Webhook]) -> None:
        self._set_enabled(request, queryset, enabled=True)

    @admin.action(description="Disable", permissions=["act"])
    def disable(self, request: HttpRequest, queryset: QuerySet[Webhook]) -> None:
        self._set_enabled(request, queryset, enabled=False)

    def _set_enabled(
        self, request: HttpRequest, queryset: QuerySet[Webhook], *, enabled: bool
    ) -> None:
        caller, now, changes = caller_of(request), timezone.now(), {"enabled": enabled}
        self.for_each(
            request,
            queryset.exclude(enabled=enabled),
            "Enabled" if enabled else "Disabled",
            lambda webhook: services.webhook_update(caller, webhook, changes, now),
        )


@admin.register(WebhookDelivery)
class WebhookDeliveryAdmin(StaffActs, HistoryAdmin):
    list_display = ("id", "event", "webhook", "tenant", "state", "tries", "status", "error")
    list_filter = ("state", "tenant")
    list_select_related = ("webhook", "tenant")
    search_fields = ("webhook__url", "tenant__name")
    actions = ("resend",)

    @admin.action(description="Send again", permissions=["act"])
    def resend(self, request: HttpRequest, queryset: QuerySet[WebhookDelivery]) -> None:
        caller, now = caller_of(request), timezone.now()
        self.for_each(
            request,
            queryset.exclude(state=WebhookDelivery.State.PENDING),
            "Sent again",
            lambda delivery: services.delivery_resend(caller, delivery, now),
        )
