"""Shapes of webhooks at the door."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from rest.structs import Id, Input, Instant, Output, Version, matching, patch_of
from tenancy.api.structs import TenantId
from webhooks.models import WebhookDelivery

Url = Annotated[
    str,
    matching(
        r"^https?://[^\s/?#@]+(/[^\s#]*|\?[^\s#]*)?$",
        max_length=2000,
        example="https://ci.example.org/hooks/fairwatt",
    ),
]
EventName = Literal[
    "job.queued",
    "job.placed",
    "job.running",
    "job.preempting",
    "job.succeeded",
    "job.failed",
    "job.cancelled",
]
Events = Annotated[
    list[EventName],
    Meta(max_length=7, examples=[["job.succeeded", "job.failed"]]),
]


class WebhookOut(Output, frozen=True):
    id: Id
    tenant_id: Id
    url: Annotated[str, Meta(examples=["https://ci.example.org/hooks/fairwatt"])]
    events: Events
    enabled: bool
    disabled_reason: Annotated[str, Meta(examples=[""])]
    failing_since: Annotated[Instant | None, Meta(examples=[None])]
    old_secret_until: Annotated[Instant | None, Meta(examples=[None])]
    version: Version
    created_at: Instant
    updated_at: Instant


class WebhookWithSecret(WebhookOut, frozen=True):
    """`secret` is shown once; a replayed answer has null in its place."""

    secret: Annotated[str | None, Meta(examples=["whsec_" + "x" * 43 + "="])]


class WebhookCreate(Input, frozen=True):
    url: Url
    events: Events = []
    tenant_id: TenantId | UnsetType = UNSET


WebhookPatch = patch_of(WebhookCreate, "WebhookPatch", omit={"tenant_id"}, add={"enabled": bool})


class WebhookRotate(Input, frozen=True):
    overlap_s: Annotated[int, Meta(ge=0, le=7 * 86_400, examples=[86_400])] = 86_400


class WebhookDeliveryOut(Output, frozen=True):
    id: Id
    tenant_id: Id
    webhook_id: Id
    event_id: Annotated[int, Meta(examples=[90_210])]
    event: Annotated[str, Meta(examples=["job.succeeded"])]
    state: WebhookDelivery.State
    tries: Annotated[int, Meta(examples=[1])]
    due_at: Instant
    status: Annotated[int | None, Meta(examples=[204])]
    error: Annotated[str, Meta(examples=[""])]
    created_at: Instant
    ended_at: Annotated[Instant | None, Meta(examples=["2026-07-31T00:00:00Z"])]
