"""Webhooks: who is told of events, what they were told, and telling it again."""

from collections.abc import Sequence

from fairwatt.call import Call, Stream, delete, get, given, patch, post
from fairwatt.operation import Asker, operation, stream
from fairwatt.pages import Page, all_pages
from fairwatt.structs.webhooks import Webhook, WebhookDelivery, WebhookWithSecret


class WebhookCalls(Asker):
    @operation
    def make_webhook(
        self,
        url: str,
        events: Sequence[str] = (),
        *,
        tenant_id: int | None = None,
        key: str | None = None,
    ) -> Call[WebhookWithSecret]:
        """Have an address told of events, of all if none are named; its secret is shown this once.

        `tenant_id` is for operators, who have no tenant of their own.

        >>> hook = client.make_webhook(f"https://ci.example.org/{name}", ["job.failed"])
        >>> hook.secret[:6]
        'whsec_'
        """
        body = given({"url": url, "events": list(events), "tenant_id": tenant_id})
        return post("webhooks/", WebhookWithSecret, body, key=key)

    @operation
    def webhook(self, webhook_id: int) -> Call[Webhook]:
        """One webhook.

        >>> client.webhook(hook.id).enabled
        True
        """
        return get(f"webhooks/{webhook_id}/", Webhook)

    @stream
    def webhooks(self, *, enabled: bool | None = None) -> Stream[Webhook]:
        """All webhooks.

        >>> hook.id in {each.id for each in client.webhooks(enabled=True)}
        True
        """
        return all_pages(self.rules, "webhooks/", Page[Webhook], {"enabled": enabled})

    @operation
    def change_webhook(
        self,
        webhook_id: int,
        *,
        url: str | None = None,
        events: Sequence[str] | None = None,
        enabled: bool | None = None,
    ) -> Call[Webhook]:
        """Change what is given; one that was disabled is told again once it is `enabled`.

        >>> client.change_webhook(hook.id, events=["job.failed", "job.cancelled"]).events
        ['job.failed', 'job.cancelled']
        """
        chosen = None if events is None else list(events)
        body = given({"url": url, "events": chosen, "enabled": enabled})
        return patch(f"webhooks/{webhook_id}/", Webhook, body, version=None)

    @operation
    def rotate_webhook(
        self, webhook_id: int, *, overlap_s: int | None = None, key: str | None = None
    ) -> Call[WebhookWithSecret]:
        """Make a new secret, shown this once; the old one signs too for `overlap_s`, or a day.

        >>> client.rotate_webhook(hook.id, overlap_s=3600).secret != hook.secret
        True
        """
        body = given({"overlap_s": overlap_s})
        return post(f"webhooks/{webhook_id}/rotate/", WebhookWithSecret, body, key=key)

    @operation
    def delete_webhook(self, webhook_id: int) -> Call[None]:
        """Tell it nothing more, and forget what it was told.

        >>> client.delete_webhook(hook.id)
        """
        return delete(f"webhooks/{webhook_id}/")

    @stream
    def deliveries(
        self, *, webhook_id: int | None = None, state: str | None = None
    ) -> Stream[WebhookDelivery]:
        """What webhooks were told in the last two weeks, the newest first, and how that went.

        >>> found = client.deliveries(webhook_id=told.webhook_id, state="delivered")
        >>> [delivery.status for delivery in found if delivery.id == told.id]
        [204]
        """
        query = {"webhook": webhook_id, "state": state}
        return all_pages(self.rules, "webhook-deliveries/", Page[WebhookDelivery], query)

    @operation
    def delivery(self, delivery_id: int) -> Call[WebhookDelivery]:
        """One delivery.

        >>> client.delivery(told.id).event
        'job.queued'
        """
        return get(f"webhook-deliveries/{delivery_id}/", WebhookDelivery)

    @operation
    def resend(self, delivery_id: int, *, key: str | None = None) -> Call[WebhookDelivery]:
        """Tell it again, under the same id.

        >>> client.resend(told.id).state
        <DeliveryState.PENDING: 'pending'>
        """
        return post(f"webhook-deliveries/{delivery_id}/resend/", WebhookDelivery, key=key)
