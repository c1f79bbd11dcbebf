"""Writes of webhooks: made, changed, rotated, sent again, forgotten."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import connection, transaction

from rest.problems import Conflict, Contradiction
from rest.services import Values
from tenancy import audit, audited
from tenancy.callers import Caller
from tenancy.models import Tenant
from tenancy.sealing import seal
from webhooks.addresses import literal, permitted
from webhooks.models import Webhook, WebhookDelivery
from webhooks.signing import new_secret

MOST_PER_TENANT = 20
KEEP = timedelta(days=14)
RING = "SELECT pg_notify('fairwatt_webhooks', '')"


@dataclass(frozen=True, slots=True)
class NewSecret:
    """A webhook with the secret that is shown this once."""

    webhook: Webhook
    secret: str

    @property
    def pk(self) -> int:
        return self.webhook.pk


@transaction.atomic
def webhook_create(caller: Caller, values: Values, now: datetime) -> NewSecret:
    """`values` has the tenant, the address and the events; the tenant's row keeps the count."""
    _check_address(values["url"])
    tenant_id, secret = values["tenant_id"], new_secret()
    Tenant.objects.select_for_update().filter(pk=tenant_id).first()
    if Webhook.objects.filter(tenant=tenant_id).count() >= MOST_PER_TENANT:
        detail = f"A tenant has {MOST_PER_TENANT} webhooks at most; delete one first."
        raise Conflict(detail, code="too_many_webhooks")
    row = Webhook(
        **{"events": [], **values},
        sealed_secret=seal(secret, sealed_as(tenant_id)),
        created_at=now,
        updated_at=now,
    )
    return NewSecret(audited.insert(caller, row, values), secret)


def webhook_update(caller: Caller, webhook: Webhook, changes: Values, now: datetime) -> Webhook:
    """One that is enabled begins anew: what failed before is forgotten."""
    if "url" in changes:
        _check_address(changes["url"])
    columns: dict[str, Any] = {**changes, "updated_at": now}
    if changes.get("enabled"):
        columns |= {"failures": 0, "failing_since": None, "retry_at": None, "disabled_reason": ""}
    return audited.update(caller, webhook, columns, changes)


@transaction.atomic
def webhook_rotate(caller: Caller, webhook: Webhook, *, overlap_s: int, now: datetime) -> NewSecret:
    """Both secrets sign for `overlap_s`, so that a receiver can change over without a gap."""
    secret = new_secret()
    before = Webhook.objects.values_list("sealed_secret", flat=True).get(pk=webhook.pk)
    columns = {
        "sealed_secret": seal(secret, sealed_as(webhook.tenant_id)),
        "sealed_old_secret": before,
        "old_secret_until": now + timedelta(seconds=overlap_s),
        "updated_at": now,
    }
    return NewSecret(audited.update(caller, webhook, columns, {"overlap_s": overlap_s}), secret)


def webhook_delete(caller: Caller, webhook: Webhook) -> None:
    audited.delete(caller, webhook, {"url": webhook.url})


@transaction.atomic
def delivery_resend(caller: Caller, delivery: WebhookDelivery, now: datetime) -> WebhookDelivery:
    """As if it were new, under the same id; one that is under way is left alone."""
    rows = WebhookDelivery.objects.filter(pk=delivery.pk).exclude(state="pending")
    if not rows.update(state="pending", tries=0, due_at=now, ended_at=None, status=None, error=""):
        raise Conflict("It is on its way already.", code="delivery_pending")
    audit.record(caller, "webhook_delivery.resend", delivery, {}, tenant_id=delivery.tenant_id)
    with connection.cursor() as cursor:
        cursor.execute(RING)
    delivery.refresh_from_db()
    return delivery


def deliveries_forget(*, now: datetime) -> int:
    return WebhookDelivery.objects.filter(ended_at__lt=now - KEEP).delete()[0]


def sealed_as(tenant_id: int) -> str:
    return f"webhook of {tenant_id}"


def _check_address(url: str) -> None:
    """Of a name nothing is known yet: it is looked up when something is sent."""
    address = literal(urlsplit(url).hostname or "")
    if address is not None and not permitted(address, settings.WEBHOOK_NETWORKS):
        detail = "Webhooks reach public addresses only; operators may allow more."
        raise Contradiction.at("/url", "private_address", detail)
