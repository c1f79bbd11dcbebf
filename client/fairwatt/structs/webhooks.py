"""Receivers of events, and how telling them went."""

from datetime import datetime

from msgspec import Struct

from fairwatt.structs.words import DeliveryState


class Webhook(Struct, frozen=True):
    """An address that is told of events; no `events` are all of them."""

    id: int
    tenant_id: int
    url: str
    events: list[str]
    enabled: bool
    disabled_reason: str
    failing_since: datetime | None
    old_secret_until: datetime | None
    version: int
    created_at: datetime
    updated_at: datetime


class WebhookWithSecret(Webhook, frozen=True):
    """The one time that the secret is shown; None if the answer is a repeated one."""

    secret: str | None


class WebhookDelivery(Struct, frozen=True):
    """One event on its way to one webhook."""

    id: int
    tenant_id: int
    webhook_id: int
    event_id: int
    event: str
    state: DeliveryState
    tries: int
    due_at: datetime
    status: int | None
    error: str
    created_at: datetime
    ended_at: datetime | None
