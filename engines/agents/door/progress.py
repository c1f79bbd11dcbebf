"""Progress is written behind the answers, a few times a second, in one statement for all nodes."""

import asyncio
import logging
from collections.abc import Iterable
from datetime import datetime

from django.db import DatabaseError, InterfaceError

from agent.wire import AttemptReport
from engines.agents.progress import PROGRESS_OF_MANY, NodeProgress, columns
from tenancy.async_pool import AsyncPool
from tenancy.rls import ALL

WRITE_S = 0.25
MOST = 2000

logger = logging.getLogger(__name__)


class ProgressNotes:
    """Of each attempt on each node the latest; what is lost here is said again with a next sync."""

    def __init__(self, pool: AsyncPool) -> None:
        self._pool = pool
        self._notes: dict[tuple[int, int], NodeProgress] = {}

    def add(self, node_id: int, reports: Iterable[AttemptReport], at: datetime) -> None:
        for report in reports:
            self._notes[node_id, report.attempt_id] = NodeProgress(node_id, report, at)

    async def keep_writing(self) -> None:
        """For ever."""
        while True:
            await asyncio.sleep(WRITE_S)
            try:
                await self.write()
            except (DatabaseError, InterfaceError) as error:
                logger.warning("progress not written, it comes again: %s", type(error).__name__)

    async def write(self) -> None:
        while self._notes:
            taken = [self._notes.pop(key) for key in list(self._notes)[:MOST]]
            async with self._pool.transaction(ALL, durable=False) as link:
                await link.execute(PROGRESS_OF_MANY, columns(taken), prepare=True)
