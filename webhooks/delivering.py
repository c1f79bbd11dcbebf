"""Sends what is due, for ever: a few at once in all, fewer to one receiver, and no thread each."""

import asyncio
import logging
from typing import Any

from django.db import DatabaseError, InterfaceError

from rest.json import encode
from tenancy.async_pool import AsyncPool
from tenancy.sealing import SealBroken, unseal
from webhooks import signing
from webhooks.outbox import Claimed, Outbox
from webhooks.post import CONNECTIONS, NotDelivered, Poster
from webhooks.services import sealed_as

# Events ring; this is for what is tried again.
LOOK_S = 2.0

logger = logging.getLogger(__name__)


class Deliveries:
    def __init__(self, pool: AsyncPool, poster: Poster) -> None:
        self._outbox, self._poster = Outbox(pool), poster
        self._rung = asyncio.Event()
        self._sending: set[asyncio.Task[None]] = set()

    def ring(self, _: str = "") -> None:
        """Something is due."""
        self._rung.set()

    async def keep_sending(self) -> None:
        """For ever."""
        try:
            while True:
                try:
                    await self.send_due()
                except (DatabaseError, InterfaceError) as error:
                    logger.warning("webhooks not looked at: %s", type(error).__name__)
                await self._pause()
        finally:
            await self._poster.close()

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(LOOK_S):
                await self._rung.wait()
        except TimeoutError:
            return
        self._rung.clear()

    async def send_due(self) -> None:
        """Begin what there are places for; whoever is done rings for the next."""
        if not (free := CONNECTIONS - len(self._sending)):
            return
        for claimed in await self._outbox.claim(free):
            task = asyncio.create_task(self._deliver(claimed))
            self._sending.add(task)
            task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._sending.discard(task)
        self.ring()
        if not task.cancelled() and (error := task.exception()) is not None:
            # Its lease runs out, and it is tried again.
            logger.error("a webhook's answer was not noted", exc_info=error)

    async def _deliver(self, claimed: Claimed) -> None:
        if claimed.data is None:
            await self._outbox.gone(claimed)
            return
        try:
            headers, body = message(claimed)
            status = await self._poster.post(claimed.url, headers, body)
        except NotDelivered as error:
            await self._outbox.not_delivered(claimed, str(error), error.status)
        else:
            await self._outbox.delivered(claimed, status)


def message(claimed: Claimed) -> tuple[dict[str, str], bytes]:
    """Its id stays the same whenever it is sent, so that a receiver knows it again."""
    told: dict[str, Any] = {"type": claimed.kind, "timestamp": claimed.at, "data": claimed.data}
    body = encode(told)
    sealed = [claimed.sealed_secret, claimed.sealed_old_secret]
    try:
        secrets = [unseal(text, sealed_as(claimed.tenant_id)) for text in sealed if text]
    except SealBroken as broken:
        raise NotDelivered("The service cannot read the webhook's secret; rotate it.") from broken
    signed = signing.headers(secrets, f"msg_{claimed.id}", claimed.sent_s, body)
    about = {"content-type": "application/json", "user-agent": "Fairwatt-Webhooks/1"}
    return {**about, **signed}, body
