"""The agent's loop: one thread for processes and GPUs, and conversations that never hold it up."""

import asyncio
import contextlib
import logging
import signal
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from agent.assemble import AgentParts
from agent.talk.client import (
    TIMEOUT_S,
    Backoff,
    FencedError,
    NotAdmittedError,
    RefusedError,
    ServiceClient,
    StaleAttemptsError,
    UnavailableError,
    around,
)
from agent.talk.transfers import Transfers
from agent.wire import Desired, Logs, Registered, Telemetry

log = logging.getLogger("fairwatt.agent")

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

TICK_S = 0.2
LOGS_S = 1.0
LAST_SYNC_S = 5.0
# A service without a bell may be renewed.
NO_BELL_S = 300.0


class EndRequestedError(Exception):
    """A signal has asked the agent to end."""

    def __init__(self, *, stop_attempts: bool) -> None:
        super().__init__("asked to end")
        self.stop_attempts = stop_attempts


@dataclass(slots=True)
class Intervals:
    """Set by the service, and changed by its answers."""

    next_sync_s: float
    sample_interval_s: float
    upload_interval_s: float

    @classmethod
    def of(cls, answer: Registered | Desired) -> "Intervals":
        return cls(answer.next_sync_s, answer.sample_interval_s, answer.upload_interval_s)


class AgentLoop:
    def __init__(self, parts: AgentParts, client: ServiceClient) -> None:
        self._parts, self._client = parts, client
        self._messages, self._supervisor = parts.messages, parts.supervisor
        self._hands = ThreadPoolExecutor(1, "hands")
        self._news = asyncio.Event()
        self._log_news = asyncio.Event()
        self._registered = asyncio.Event()
        self._transfers = Transfers(client, parts.downloads, parts.artifacts, self._by_hand)
        self._end: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._intervals = Intervals(next_sync_s=1.0, sample_interval_s=1.0, upload_interval_s=5.0)
        self._epoch = 0

    async def run(self) -> None:
        """Until asked to end, fenced or turned away; the attempts' fate is the exception's."""
        self._handle_signals()
        await self._by_hand(self._supervisor.adopt)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._wait_for_signal())
                tasks.create_task(self._ticking())
                tasks.create_task(self._sampling())
                tasks.create_task(self._conversing())
                tasks.create_task(self._listening())
                tasks.create_task(self._uploading_telemetry())
                tasks.create_task(self._uploading_logs())
                tasks.create_task(self._fetching_archives())
                tasks.create_task(self._sending_artifacts())
        except BaseExceptionGroup as troubles:
            raise _first(troubles) from None

    async def stop_attempts(self, why: str, grace_s: float | None) -> None:
        """End all attempts and wait for it."""
        await self._by_hand(self._supervisor.stopper.stop_all, why, grace_s)
        while self._supervisor.attempts.runs:
            await self._by_hand(self._supervisor.tick)
            await asyncio.sleep(TICK_S / 4)

    async def last_sync(self) -> None:
        """Tell the service how the attempts ended, if it listens."""
        try:
            async with asyncio.timeout(LAST_SYNC_S):
                await self._client.sync(await self._by_hand(self._messages.sync, self._epoch))
        except (
            TimeoutError,
            UnavailableError,
            RefusedError,
            StaleAttemptsError,
            FencedError,
        ) as error:
            log.warning("the last report was not taken: %s", error)

    async def close(self) -> None:
        await self._client.close()
        self._transfers.close()
        self._hands.shutdown()

    def _handle_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number, stop in ((signal.SIGTERM, False), (signal.SIGINT, True)):
            loop.add_signal_handler(number, self._request_end, stop)

    def _request_end(self, stop_attempts: bool) -> None:
        if not self._end.done():
            self._end.set_exception(EndRequestedError(stop_attempts=stop_attempts))

    async def _wait_for_signal(self) -> None:
        await self._end

    async def _by_hand(
        self,
        act: Callable[Arguments, Result],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._hands, lambda: act(*args, **kwargs))

    def _tick(self) -> bool:
        """Whether something has happened that the service does not know."""
        self._supervisor.tick()
        self._parts.housekeeping.tidy()
        return self._messages.has_news()

    async def _ticking(self) -> None:
        while True:
            if await self._by_hand(self._tick):
                self._news.set()
                self._log_news.set()
            self._transfers.news.set()
            await asyncio.sleep(TICK_S)

    async def _sampling(self) -> None:
        while True:
            await self._by_hand(self._parts.sampler.sample)
            await asyncio.sleep(self._intervals.sample_interval_s)

    async def _conversing(self) -> None:
        registered = await self._register()
        self._epoch = registered.epoch
        self._intervals = Intervals.of(registered)
        # Several tries fit into a run lease, however the service answers or does not.
        longest_s = min(TIMEOUT_S, registered.run_lease_s / 4)
        self._client.timeout_s = longest_s
        self._registered.set()
        backoff = Backoff(longest_s=longest_s)
        while True:
            try:
                await self._sync_once()
            except StaleAttemptsError as trouble:
                await self._by_hand(self._supervisor.fence, trouble.stale)
            except (UnavailableError, RefusedError) as trouble:
                await self._wait_after(trouble, backoff)
            else:
                backoff.reset()
                await _within(around(self._intervals.next_sync_s), self._news)

    async def _listening(self) -> None:
        """Sync at once when the service rings; without a bell, at the usual interval."""
        await self._registered.wait()
        backoff = Backoff()
        while True:
            try:
                # What was to be told while nobody listened is asked for once.
                heard = False
                async for rung in self._client.rings():
                    if rung or not heard:
                        self._news.set()
                    heard = True
                    backoff.reset()
            except UnavailableError:
                # The syncs say so already.
                pass
            except RefusedError as trouble:
                log.debug("no bell here: %s", trouble)
                await asyncio.sleep(around(NO_BELL_S))
            await asyncio.sleep(backoff.next_s())

    async def _register(self) -> Registered:
        backoff = Backoff()
        while True:
            try:
                message = self._messages.register(self._client.token)
                registered = await self._client.register(message)
            except NotAdmittedError:
                if self._client.token is None or self._messages.join_token is None:
                    raise
                log.warning("the node token is no longer good: joining anew")
                self._client.token = None
            except UnavailableError as trouble:
                await self._wait_after(trouble, backoff)
            else:
                self._client.token = await self._by_hand(self._messages.admitted, registered)
                log.info("registered as node %s, epoch %s", registered.node_id, registered.epoch)
                return registered

    async def _sync_once(self) -> None:
        self._news.clear()
        message = await self._by_hand(self._messages.sync, self._epoch)
        sent_s = self._parts.clock()
        desired, unreadable = await self._client.sync(message)
        self._intervals = Intervals.of(desired)
        await self._by_hand(self._messages.accept, desired, sent_s)
        self._transfers.news.set()
        for ref, why in unreadable:
            await self._by_hand(self._supervisor.starter.refuse, ref, why)

    async def _wait_after(self, trouble: Exception, backoff: Backoff) -> None:
        named_s = trouble.retry_s if isinstance(trouble, UnavailableError) else None
        wait_s = backoff.next_s() if named_s is None else named_s
        log.warning("service: %s; again in %.1f s", trouble, wait_s)
        await asyncio.sleep(wait_s)

    async def _uploading_telemetry(self) -> None:
        sampler = self._parts.sampler

        async def upload() -> bool:
            batch = await self._by_hand(sampler.batch)
            if not batch:
                return False
            message: Telemetry = await self._by_hand(self._messages.telemetry, self._epoch, batch)
            try:
                await self._client.telemetry(message)
            except (RefusedError, StaleAttemptsError) as trouble:
                log.error("telemetry refused and dropped: %s", trouble)
                sampler.shed += len(batch)
            await self._by_hand(sampler.taken, batch)
            return len(batch) < len(await self._by_hand(sampler.batch))

        await self._registered.wait()
        await self._keep_on(upload, self._until_telemetry)

    async def _until_telemetry(self) -> None:
        await asyncio.sleep(around(self._intervals.upload_interval_s))

    async def _until_logs(self) -> None:
        """A second, or until an attempt begins or ends: its last words should not wait."""
        self._log_news.clear()
        await _within(LOGS_S, self._log_news)

    async def _uploading_logs(self) -> None:
        async def upload() -> bool:
            chunks = await self._by_hand(self._messages.log_chunks)
            if not chunks:
                return False
            try:
                answer = await self._client.logs(Logs(self._epoch, chunks))
            except (RefusedError, StaleAttemptsError) as trouble:
                log.warning("logs refused: %s", trouble)
                await self._by_hand(self._parts.log_upload.close, chunks)
            else:
                await self._by_hand(self._parts.log_upload.taken, chunks, answer)
            return any(chunk.data for chunk in chunks)

        await self._registered.wait()
        await self._keep_on(upload, self._until_logs)

    async def _fetching_archives(self) -> None:
        await self._registered.wait()
        await self._transfers.fetch(self._epoch)

    async def _sending_artifacts(self) -> None:
        await self._registered.wait()
        await self._transfers.send(self._epoch)

    async def _keep_on(
        self, upload: Callable[[], Awaitable[bool]], pause: Callable[[], Awaitable[None]]
    ) -> None:
        """Upload for ever; `upload` says whether there is more at once."""
        backoff = Backoff()
        while True:
            try:
                more = await upload()
            except UnavailableError:
                # The syncs say so already.
                await asyncio.sleep(backoff.next_s())
            else:
                backoff.reset()
                if not more:
                    await pause()


def _first(troubles: BaseExceptionGroup[BaseException]) -> BaseException:
    """Of those that ended the tasks; a group may be within a group."""
    trouble = troubles.exceptions[0]
    return _first(trouble) if isinstance(trouble, BaseExceptionGroup) else trouble


async def _within(longest_s: float, event: asyncio.Event) -> None:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(longest_s):
            await event.wait()
