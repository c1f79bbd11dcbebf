"""Threads by purpose: who guesses passwords, and who asks much, never delays the nodes."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from scheduler_service.front.bodies import too_busy

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


# Where passwords are checked.
LOGINS = ("/admin/login", "/console/sign-in")


class Lane:
    """A few threads, each with a database connection of its own, and a queue that has an end."""

    def __init__(self, name: str, *, threads: int, waiting: int) -> None:
        self._pool = ThreadPoolExecutor(threads, f"lane-{name}")
        self._most = threads + waiting
        self._inside = 0

    async def run(
        self, act: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        if self._inside >= self._most:
            raise too_busy("Too many requests wait already; come back.")
        self._inside += 1
        work = self._pool.submit(act, *args, **kwargs)
        # Also when the client leaves: the thread is taken until the work is done.
        loop = asyncio.get_running_loop()
        work.add_done_callback(lambda _: loop.call_soon_threadsafe(self._left))
        return await asyncio.wrap_future(work)

    def _left(self) -> None:
        self._inside -= 1


class Lanes:
    def __init__(self) -> None:
        self.requests = Lane("requests", threads=4, waiting=512)
        self.agents = Lane("agents", threads=4, waiting=2048)
        # Checking a password takes a third of a second of a core.
        self.logins = Lane("logins", threads=1, waiting=8)

    def of(self, method: str, path: str) -> Lane:
        if path.startswith("/api/v1/agent/"):
            return self.agents
        if method == "POST" and path.startswith(LOGINS):
            return self.logins
        return self.requests
