"""The outbox: what is due, claimed fairly; and what became of it, written by whoever claimed it."""

from datetime import timedelta
from typing import Any, NamedTuple

from psycopg.rows import class_row

from jobs.api.structs import JobEventOut
from rest.structs import show
from tenancy.async_pool import AsyncPool
from tenancy.rls import ALL

# Longer than any POST: who claimed and fell silent is not waited for for ever.
LEASE = timedelta(seconds=60)
AT_ONCE_PER_WEBHOOK = 4
# As the scheme recommends; after the last one a delivery has failed.
BACKOFF_S = (5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400)
GIVES_UP = timedelta(days=5)
GONE = 410

# Every receiver has so many places, one while it fails; which of them come first is drawn, so that
# nobody stands before the others for ever.
_CLAIM = """
WITH ready AS (
    SELECT hook.id, CASE WHEN hook.failing_since IS NULL THEN %(each)s ELSE 1 END - (
        SELECT count(*) FROM webhooks_webhookdelivery busy
        WHERE busy.webhook_id = hook.id AND busy.state = 'pending' AND busy.claimed_until > now()
    ) AS places
    FROM webhooks_webhook hook
    WHERE hook.enabled AND coalesce(hook.retry_at <= now(), true) AND EXISTS (
        SELECT FROM webhooks_webhookdelivery due
        WHERE due.webhook_id = hook.id AND due.state = 'pending' AND due.due_at <= now()
    )
    ORDER BY random()
), picked AS (
    SELECT due.id FROM ready CROSS JOIN LATERAL (
        SELECT id FROM webhooks_webhookdelivery
        WHERE webhook_id = ready.id AND state = 'pending' AND due_at <= now()
        ORDER BY due_at, id LIMIT greatest(ready.places, 0) FOR UPDATE SKIP LOCKED
    ) due
    LIMIT %(most)s
), claimed AS (
    UPDATE webhooks_webhookdelivery delivery
    SET tries = tries + 1, due_at = now() + %(lease)s, claimed_until = now() + %(lease)s
    FROM picked WHERE delivery.id = picked.id
    RETURNING delivery.*
)
SELECT claimed.id, claimed.tenant_id, claimed.webhook_id, claimed.tries, claimed.event AS kind,
    hook.url, hook.sealed_secret, hook.failures,
    CASE WHEN hook.old_secret_until > now() THEN hook.sealed_old_secret ELSE '' END
        AS sealed_old_secret,
    extract(epoch FROM now())::int8 AS sent_s,
    to_jsonb(moved) || jsonb_build_object('job_name', job.name, 'labels', job.labels,
        'array_id', job.array_id, 'tenant_name', tenant.name, 'cluster_name', cluster.name)
        AS event, moved.at
FROM claimed
JOIN webhooks_webhook hook ON hook.id = claimed.webhook_id
JOIN tenancy_tenant tenant ON tenant.id = claimed.tenant_id
LEFT JOIN jobs_jobevent moved ON moved.id = claimed.event_id
LEFT JOIN jobs_job job ON job.id = moved.job_id
LEFT JOIN clusters_cluster cluster ON cluster.id = job.cluster_id
"""

_DELIVERED = """
WITH done AS (
    UPDATE webhooks_webhookdelivery
    SET state = 'delivered', ended_at = now(), claimed_until = NULL, status = %(status)s, error = ''
    WHERE id = %(id)s AND tries = %(tries)s AND state = 'pending' RETURNING webhook_id
)
UPDATE webhooks_webhook hook SET failures = 0, failing_since = NULL, retry_at = NULL
FROM done WHERE hook.id = done.webhook_id AND hook.failures > 0
"""

_NOT_DELIVERED = """
WITH tried AS (
    UPDATE webhooks_webhookdelivery SET
        state = CASE WHEN %(pause)s::interval IS NULL THEN 'failed' ELSE 'pending' END,
        ended_at = CASE WHEN %(pause)s::interval IS NULL THEN now() END,
        due_at = now() + coalesce(%(pause)s::interval, '0'),
        claimed_until = NULL, status = %(status)s, error = %(error)s
    WHERE id = %(id)s AND tries = %(tries)s AND state = 'pending' RETURNING webhook_id
), failing AS (
    UPDATE webhooks_webhook hook SET
        failures = failures + 1, failing_since = coalesce(failing_since, now()),
        retry_at = now() + %(hook_pause)s::interval,
        enabled = NOT (%(gone)s OR coalesce(failing_since < now() - %(gives_up)s::interval, false)),
        disabled_reason = CASE
            WHEN %(gone)s THEN 'It answered 410.'
            WHEN failing_since < now() - %(gives_up)s::interval THEN 'It failed for five days.'
            ELSE '' END,
        version = version + 1
    FROM tried WHERE hook.id = tried.webhook_id
    RETURNING hook.id, hook.enabled
)
SELECT id FROM failing WHERE NOT enabled
"""
_FAIL = """
UPDATE webhooks_webhookdelivery
SET state = 'failed', ended_at = now(), claimed_until = NULL, error = %(error)s
WHERE state = 'pending' AND (webhook_id = ANY(%(webhooks)s) OR id = %(id)s AND tries = %(tries)s)
"""


class Claimed(NamedTuple):
    """A delivery that is ours for the lease, with all that it takes to send it."""

    id: int
    tenant_id: int
    webhook_id: int
    tries: int
    kind: str
    url: str
    sealed_secret: str
    failures: int
    sealed_old_secret: str
    sent_s: int
    event: dict[str, Any] | None
    at: Any

    @property
    def data(self) -> JobEventOut | None:
        """What is told; None if the job is gone."""
        return None if self.event is None else show(JobEventOut, {**self.event, "at": self.at})


class Outbox:
    def __init__(self, pool: AsyncPool) -> None:
        self._pool = pool

    async def claim(self, most: int) -> list[Claimed]:
        values = {"most": most, "each": AT_ONCE_PER_WEBHOOK, "lease": LEASE}
        async with (
            self._pool.transaction(ALL) as link,
            link.cursor(row_factory=class_row(Claimed)) as cur,
        ):
            await cur.execute(_CLAIM, values)
            return await cur.fetchall()

    async def delivered(self, claimed: Claimed, status: int) -> None:
        async with self._pool.transaction(ALL) as link:
            values = {"id": claimed.id, "tries": claimed.tries, "status": status}
            await link.execute(_DELIVERED, values)

    async def not_delivered(self, claimed: Claimed, error: str, status: int | None) -> None:
        values = {
            "id": claimed.id,
            "tries": claimed.tries,
            "status": status,
            "error": error[:500],
            "pause": pause_after(claimed.tries),
            "hook_pause": pause_after(min(claimed.failures + 1, 4)),
            "gone": status == GONE,
            "gives_up": GIVES_UP,
        }
        async with self._pool.transaction(ALL) as link:
            disabled = await (await link.execute(_NOT_DELIVERED, values)).fetchall()
            if disabled:
                disabled_ids = [hook for (hook,) in disabled]
                why = {"error": "The webhook was disabled.", "webhooks": disabled_ids}
                await link.execute(_FAIL, {**why, "id": None, "tries": None})

    async def gone(self, claimed: Claimed) -> None:
        """There is nothing left to tell, which is no fault of the receiver."""
        why = {"error": "The job is gone.", "webhooks": []}
        async with self._pool.transaction(ALL) as link:
            await link.execute(_FAIL, {**why, "id": claimed.id, "tries": claimed.tries})


def pause_after(tries: int) -> timedelta | None:
    """None after the last."""
    return timedelta(seconds=BACKOFF_S[tries - 1]) if tries <= len(BACKOFF_S) else None
