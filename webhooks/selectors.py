"""Reads of webhooks; a tenant sees its own."""

from django.db.models import QuerySet

from tenancy.callers import Caller
from tenancy.selectors import visible
from webhooks.models import Webhook, WebhookDelivery


def webhooks(caller: Caller) -> QuerySet[Webhook]:
    rows = Webhook.objects.defer("sealed_secret", "sealed_old_secret")
    return visible(rows, caller)


def deliveries(caller: Caller) -> QuerySet[WebhookDelivery]:
    return visible(WebhookDelivery.objects.all(), caller)
