"""Resources of webhooks: shape and rights here, decisions in the services."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.decorators import action
from rest_framework.request import Request

from rest.filters import BooleanFilter, ChoiceFilter, IntegerFilter
from rest.structs import given, show
from rest.views import (
    Answer,
    CreateMixin,
    DestroyMixin,
    ListMixin,
    RetrieveMixin,
    UpdateMixin,
    crud_rights,
)
from tenancy.api.views import tenant_for
from webhooks import selectors, services
from webhooks.api import structs
from webhooks.models import Webhook, WebhookDelivery
from webhooks.services import NewSecret


class WebhookViewSet(ListMixin, RetrieveMixin, CreateMixin, UpdateMixin, DestroyMixin):
    """Addresses that are told what the tenant's jobs do, signed by the Standard Webhooks scheme.

    The secret is shown once, when a webhook is made or its secret rotated.
    """

    resource = "webhooks"
    rights = {**crud_rights("webhooks"), "rotate": "webhooks.write"}
    output = structs.WebhookOut
    inputs = {
        "create": structs.WebhookCreate,
        "partial_update": structs.WebhookPatch,
        "rotate": structs.WebhookRotate,
    }
    outputs = {"create": structs.WebhookWithSecret, "rotate": structs.WebhookWithSecret}
    filters = {"tenant_id": IntegerFilter(), "enabled": BooleanFilter()}
    etag_prefix = "webhook"
    moves_without_version = True
    secret_members = ("secret",)

    def rows(self) -> QuerySet[Webhook]:
        return selectors.webhooks(self.caller)

    def answer(self, row: Webhook | NewSecret, status: int = 200) -> Answer:
        if isinstance(row, Webhook):
            return super().answer(row, status)
        plain = super().answer(row.webhook, status)
        body = show(structs.WebhookWithSecret, row.webhook, secret=row.secret)
        return Answer(body, status, plain.headers)

    def members(self, row: Webhook) -> dict[str, Any]:
        return {"secret": None} if self.action_name() in self.outputs else {}

    def perform_create(self, values: structs.WebhookCreate) -> NewSecret:
        facts = given(values)
        facts["tenant_id"] = tenant_for(self.caller, facts.get("tenant_id"))
        return services.webhook_create(self.caller, facts, timezone.now())

    def perform_update(self, row: Webhook, changes: dict[str, Any]) -> Webhook:
        return services.webhook_update(self.caller, row, changes, timezone.now())

    def perform_destroy(self, row: Webhook) -> None:
        services.webhook_delete(self.caller, row)

    @action(detail=True, methods=["post"])
    def rotate(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Make a new secret; the old one signs too for `overlap_s` seconds."""
        values: structs.WebhookRotate = self.input()

        def effect() -> Answer:
            row, now = self.row(), timezone.now()
            overlap_s = values.overlap_s
            return self.answer(
                services.webhook_rotate(self.caller, row, overlap_s=overlap_s, now=now)
            )

        return self.write(effect)


class WebhookDeliveryViewSet(ListMixin, RetrieveMixin):
    """What webhooks were told, and how that went; kept for two weeks."""

    resource = "webhook_deliveries"
    rights = {
        "list": "webhooks.read",
        "retrieve": "webhooks.read",
        "resend": "webhooks.write",
    }
    output = structs.WebhookDeliveryOut
    filters = {
        "tenant_id": IntegerFilter(),
        "webhook": IntegerFilter(),
        "state": ChoiceFilter(WebhookDelivery.State),
    }

    def rows(self) -> QuerySet[WebhookDelivery]:
        return selectors.deliveries(self.caller)

    @action(detail=True, methods=["post"])
    def resend(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Send it again, under the same id; its tries begin anew."""
        return self.write(
            lambda: self.answer(services.delivery_resend(self.caller, self.row(), timezone.now()))
        )
