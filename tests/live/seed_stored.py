"""What a tenant has stored: a secret, an upload, an archive, an artifact, a volume, a webhook."""

from collections.abc import Callable
from datetime import datetime, timedelta
from hashlib import sha256

from clusters.models import VolumeGrant
from jobs.models import Artifact, Attempt
from storage.models import Blob, Upload
from tenancy.models import Secret
from tests.live.seed_machines import Machines
from tests.live.world import Ids
from webhooks.models import Webhook, WebhookDelivery


def seed_stored(
    machines: Machines, attempt: Attempt, text: Callable[[str], str], now: datetime
) -> Ids:
    tenant = {"tenant_id": attempt.tenant_id}
    VolumeGrant.objects.create(volume=machines.volume, **tenant)
    size = len(text("blob"))
    digest = sha256(text("blob").encode()).hexdigest()
    blob = Blob.objects.create(digest=digest, size=size, created_at=now, used_at=now, **tenant)
    upload = Upload.objects.create(
        digest=sha256(text("upload").encode()).hexdigest(),
        size=100,
        format="tar.gz",
        created_at=now,
        expires_at=now + timedelta(days=3650),
        **tenant,
    )
    artifact = Artifact.objects.create(
        attempt=attempt,
        node=machines.node,
        name=text("artifact"),
        path=text("path"),
        detail=text("detail"),
        created_at=now,
        **tenant,
    )
    secret = Secret.objects.create(
        name=text("secret"), sealed=text("sealed"), created_at=now, updated_at=now, **tenant
    )
    return {
        **_webhook(attempt, text, now),
        "secrets": secret.pk,
        "blobs": blob.pk,
        "uploads": upload.pk,
        "artifacts": artifact.pk,
    }


def _webhook(attempt: Attempt, text: Callable[[str], str], now: datetime) -> Ids:
    tenant = {"tenant_id": attempt.tenant_id}
    webhook = Webhook.objects.create(
        url=f"https://{text('receiver')}.example/",
        sealed_secret=text("sealed"),
        sealed_old_secret=text("sealed-old"),
        old_secret_until=now,
        enabled=False,
        disabled_reason=text("disabled"),
        created_at=now,
        updated_at=now,
        **tenant,
    )
    delivery = WebhookDelivery.objects.create(
        webhook=webhook,
        event_id=1,
        event=text("event"),
        state=WebhookDelivery.State.FAILED,
        error=text("error"),
        ended_at=now,
        **tenant,
    )
    return {"webhooks": webhook.pk, "webhook-deliveries": delivery.pk}
