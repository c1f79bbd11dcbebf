"""Files on their way between service and node, beside the syncs and never in front of them."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from agent.files.artifacts import Artifacts, ArtifactToSend
from agent.files.downloads import ArchiveDownloads, Download
from agent.talk.archive_download import fetch_archive
from agent.talk.client import (
    Backoff,
    RefusedError,
    ServiceClient,
    StaleAttemptsError,
    UnavailableError,
)
from agent.wire import MAX_PART_BYTES, ArtifactPart, ArtifactTaken

log = logging.getLogger("fairwatt.agent")

# Of archives; the service has few places for them.
AT_ONCE = 2
PAUSE_S = 0.5
# Calls a function in the thread of processes and files.
ByHand = Callable[..., Awaitable[Any]]


@dataclass(slots=True)
class Transfers:
    client: ServiceClient
    downloads: ArchiveDownloads
    artifacts: Artifacts
    by_hand: ByHand
    news: asyncio.Event = field(default_factory=asyncio.Event)
    _files: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(2, "files"))
    _places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    async def fetch(self, epoch: int) -> None:
        """For ever: archives that attempts need."""
        async with asyncio.TaskGroup() as fetching:
            while True:
                for download in await self.by_hand(self.downloads.to_begin):
                    fetching.create_task(self._fetch_one(epoch, download))
                self.news.clear()
                await self.news.wait()

    async def send(self, epoch: int) -> None:
        """For ever: what attempts leave behind, one after the other."""
        backoff = Backoff()
        while True:
            waiting: list[ArtifactToSend] = await self.by_hand(self.artifacts.to_send)
            for artifact in waiting:
                try:
                    await self._send_one(epoch, artifact)
                    backoff.reset()
                except UnavailableError as trouble:
                    wait_s = backoff.next_s()
                    await asyncio.sleep(wait_s if trouble.retry_s is None else trouble.retry_s)
            await asyncio.sleep(PAUSE_S)

    def close(self) -> None:
        self._files.shutdown(cancel_futures=True)

    async def _fetch_one(self, epoch: int, download: Download) -> None:
        async with self._places:
            fault, node_fault = await fetch_archive(self.client, epoch, download, self._files)
        if fault or node_fault:
            log.warning("archive %s: %s", download.name, fault or node_fault)
        await self.by_hand(self.downloads.ended, download, fault, node_fault)

    async def _send_one(self, epoch: int, artifact: ArtifactToSend) -> None:
        loop = asyncio.get_running_loop()
        while not artifact.closed:
            try:
                data = await loop.run_in_executor(self._files, artifact.read, MAX_PART_BYTES)
            except OSError as error:
                _give_up(artifact, f"the node cannot read it any more: {error.strerror}")
                continue
            try:
                taken = await self.client.artifact(
                    artifact.ref, artifact.name, _part(epoch, artifact), data
                )
            except (RefusedError, StaleAttemptsError) as trouble:
                log.warning("artifact %s is not taken: %s", artifact.name, trouble)
                artifact.closed = True
            else:
                _take(artifact, taken)


def _part(epoch: int, artifact: ArtifactToSend) -> ArtifactPart:
    return ArtifactPart(
        epoch=epoch,
        fence=artifact.ref.fence,
        offset=artifact.offset,
        size=artifact.size,
        digest=artifact.digest,
        packed=artifact.packed,
        fault=artifact.fault,
    )


def _take(artifact: ArtifactToSend, taken: ArtifactTaken) -> None:
    artifact.offset, artifact.closed = min(taken.offset, artifact.size), taken.closed
    if taken.closed and taken.detail:
        log.warning("artifact %s is not kept: %s", artifact.name, taken.detail)


def _give_up(artifact: ArtifactToSend, why: str) -> None:
    """What was packed and cannot be read is said as a fault, without bytes."""
    artifact.fault, artifact.digest = why[:200], None
    artifact.size = artifact.offset = 0
