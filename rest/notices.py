"""What Postgres tells whoever listens: one connection for a whole process, renewed when lost."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import psycopg
from psycopg import AsyncConnection, sql

Hear = Callable[[str], None]

# A connection over which nothing comes may be dead: now and then it must answer.
CHECK_S = 10.0
RETRY_FIRST_S, RETRY_LONGEST_S = 0.2, 5.0

logger = logging.getLogger(__name__)


class Notices:
    """`channels` says who hears what; `missed` is called whenever something may have been missed.

    What is told while nobody listens is lost: a notice may only ever save time.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[AsyncConnection[Any]]],
        channels: Mapping[str, Hear],
        missed: Callable[[], None],
    ) -> None:
        self._connect, self._channels, self._missed = connect, channels, missed

    async def listen(self) -> None:
        """For ever."""
        wait_s = RETRY_FIRST_S
        while True:
            try:
                async with await self._connect() as link:
                    await self._subscribe(link)
                    wait_s = RETRY_FIRST_S
                    self._missed()
                    await self._hear(link)
            except (psycopg.Error, OSError, TimeoutError) as error:
                logger.warning("not listening to Postgres: %s", type(error).__name__)
                await asyncio.sleep(wait_s)
                wait_s = min(RETRY_LONGEST_S, 2 * wait_s)

    async def _subscribe(self, link: AsyncConnection[Any]) -> None:
        for channel in self._channels:
            await link.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))

    async def _hear(self, link: AsyncConnection[Any]) -> None:
        while True:
            async for notice in link.notifies(timeout=CHECK_S):
                self._channels[notice.channel](notice.payload)
            async with asyncio.timeout(CHECK_S):
                await link.execute("SELECT 1")
