"""Receivers, and the outbox of what they are told; a trigger fills it with every job's event."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from rest.constraints import Check, ConstraintRule, Unique, composite_target

STATES = ("queued", "placed", "running", "preempting", "succeeded", "failed", "cancelled")
EVENTS = tuple(f"job.{state}" for state in STATES)


class Webhook(models.Model):
    """A receiver. No events chosen are all of them."""

    tenant = models.ForeignKey("tenancy.Tenant", models.CASCADE, db_index=False)
    url = models.TextField()
    events = ArrayField(models.TextField(), default=list)
    # Sealed like the tenant's other secrets; the old one signs too until its time is over.
    sealed_secret = models.TextField(editable=False)
    sealed_old_secret = models.TextField(default="", editable=False)
    old_secret_until = models.DateTimeField(null=True, editable=False)
    enabled = models.BooleanField(default=True)
    disabled_reason = models.TextField(default="", editable=False)
    # While it fails it is asked once at a time, and not before `retry_at`.
    failing_since = models.DateTimeField(null=True, editable=False)
    failures = models.IntegerField(default=0, editable=False)
    retry_at = models.DateTimeField(null=True, editable=False)
    version = models.BigIntegerField(default=1, editable=False)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    explained = {
        "tenant": ConstraintRule("unknown_tenant", "/tenant_id", "The tenant is gone."),
    }

    class Meta:
        constraints = (
            composite_target("webhook"),
            Unique(
                "webhook_url_taken",
                ["tenant", "url"],
                "url_taken: The tenant has a webhook to this address; change that one instead.",
            ),
            Check(
                "webhook_url",
                Q(url__regex=r"^https?://[^\s/?#@]+(/[^\s#]*|\?[^\s#]*)?$"),
                "invalid_url: An address is http or https, without a user or a fragment.",
            ),
            Check(
                "webhook_events",
                Q(events__contained_by=list(EVENTS)),
                "invalid_choice: There is no such event.",
            ),
        )

    def __str__(self) -> str:
        return self.url


class WebhookDelivery(models.Model):
    """One event for one receiver; a claim raises `tries`, which fences the answer's writer."""

    class State(models.TextChoices):
        PENDING = "pending"
        DELIVERED = "delivered"
        FAILED = "failed"

    tenant = models.ForeignKey("tenancy.Tenant", models.CASCADE, db_index=False)
    webhook = models.ForeignKey(Webhook, models.CASCADE, db_constraint=False, db_index=False)
    # By number: an event goes with its job.
    event_id = models.BigIntegerField()
    event = models.TextField()
    state = models.TextField(choices=State, default=State.PENDING, db_default="pending")
    tries = models.IntegerField(default=0, db_default=0)
    due_at = models.DateTimeField(db_default=Now())
    claimed_until = models.DateTimeField(null=True)
    status = models.IntegerField(null=True)
    error = models.TextField(default="", db_default="")
    created_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True)

    explained = {
        "tenant": ConstraintRule("unknown_tenant", "", "The tenant is gone."),
        "webhooks_webhookdelivery_webhook_of_tenant": ConstraintRule(
            "webhook_gone", "", "The webhook is gone."
        ),
    }

    class Meta:
        verbose_name_plural = "webhook deliveries"
        constraints = (
            Unique(
                "delivery_once",
                ["webhook", "event_id"],
                "already_sent: The webhook has a delivery of this event.",
                pointer="",
            ),
            Check(
                "delivery_state",
                Q(state="pending", ended_at__isnull=True)
                | Q(state__in=("delivered", "failed"), ended_at__isnull=False),
                "invalid_state: A delivery has an end exactly when it ended.",
                pointer="",
            ),
        )
        indexes = (
            models.Index(fields=["tenant", "-id"], name="delivery_by_tenant"),
            models.Index(
                fields=["webhook", "due_at"], name="delivery_due", condition=Q(state="pending")
            ),
            models.Index(fields=["ended_at"], name="delivery_by_end"),
        )

    def __str__(self) -> str:
        return f"{self.event} to webhook {self.webhook_id}"
