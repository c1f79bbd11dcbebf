"""Logs that are waited for: their sizes are looked up together, a few times a second.

Logs grow with every upload of every node, too often for Postgres to tell everybody.
"""

import asyncio
import logging

from django.db import DatabaseError, InterfaceError

from jobs.api.followers.waiting import Waiting, told_or_gone
from jobs.api.logs import FirstLogToFollow, LogToFollow
from jobs.lifecycle import TERMINAL
from rest.asgi import AsgiRequest
from tenancy.async_pool import AsyncPool
from tenancy.rls import ALL

LOOK_S = 0.25

logger = logging.getLogger(__name__)

_SIZES = "SELECT id, size, closed FROM jobs_log WHERE id = ANY(%s)"
_COUNTS = """
SELECT job.id, count(log.id), job.state = ANY(%s) FROM jobs_job job
LEFT JOIN jobs_attempt attempt ON attempt.job_id = job.id
LEFT JOIN jobs_log log ON log.attempt_id = attempt.id
WHERE job.id = ANY(%s) GROUP BY job.id
"""


class LogFollowers:
    def __init__(self, pool: AsyncPool) -> None:
        self._pool = pool
        # By log, for more of it; by job, for another log of it.
        self._waiting, self._waiting_for_first = Waiting(), Waiting()

    async def keep_looking(self) -> None:
        """For ever."""
        while True:
            await asyncio.sleep(LOOK_S)
            try:
                await self.look()
            except (DatabaseError, InterfaceError) as error:
                logger.warning("logs not looked at: %s", type(error).__name__)

    async def look(self) -> None:
        """Only that there is more: what it says is read by whoever may."""
        await self._look(self._waiting, _SIZES)
        await self._look(self._waiting_for_first, _COUNTS, list(TERMINAL))

    async def _look(self, waiting: Waiting, question: str, *values: object) -> None:
        if not (followed := list(waiting)):
            return
        async with self._pool.transaction(ALL) as link:
            found = await link.execute(question, [*values, followed], prepare=True)
            rows = await found.fetchall()
        for number, size, over in rows:
            for told in waiting.of(number):
                if over or size > told.after:
                    told.set()

    async def wait(self, wanted: LogToFollow, ask: AsgiRequest) -> None:
        with self._waiting.follow(wanted.log_id, wanted.offset) as told:
            await told_or_gone(ask, told, wanted.wait_s)

    async def wait_for_first(self, wanted: FirstLogToFollow, ask: AsgiRequest) -> None:
        with self._waiting_for_first.follow(wanted.job_id, wanted.known) as told:
            await told_or_gone(ask, told, wanted.wait_s)
