"""Many questions, few calls: what is asked while one call runs makes up the next one."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Question = TypeVar("Question")
Reply = TypeVar("Reply")


class Gathered(Generic[Question, Reply]):
    """Alone, a question is answered at once; in a crowd, all together and in order of arrival."""

    def __init__(
        self,
        reply_all: Callable[[Sequence[Question]], Awaitable[Sequence[Reply]]],
        *,
        most: int,
    ) -> None:
        self._reply_all, self._most = reply_all, most
        self._waiting: deque[tuple[Question, asyncio.Future[Reply]]] = deque()
        self._work: asyncio.Task[None] | None = None

    async def ask(self, question: Question) -> Reply:
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, future))
        if self._work is None:
            self._work = asyncio.create_task(self._working())
        return await future

    async def _working(self) -> None:
        try:
            while self._waiting:
                taken = [
                    self._waiting.popleft() for _ in range(min(self._most, len(self._waiting)))
                ]
                await self._reply([one for one in taken if not one[1].done()])
        finally:
            self._work = None

    async def _reply(self, taken: list[tuple[Question, asyncio.Future[Reply]]]) -> None:
        if not taken:
            return
        try:
            replies = await self._reply_all([question for question, _ in taken])
        except Exception as error:  # noqa: BLE001 - it is raised to everybody who asked
            for _, future in taken:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), reply in zip(taken, replies, strict=True):
            if not future.done():
                future.set_result(reply)
