"""Fetches an archive into the node's cache, and goes on where a broken connection left off."""

import asyncio
from concurrent.futures import Executor

from agent.files.archive_cache import WrongBytesError
from agent.files.downloads import Download
from agent.talk.client import Backoff, RefusedError, ServiceClient, UnavailableError
from agent.wire import AttemptRef

# Wrong bytes may be a proxy's doing, once or twice.
TRIES = 3
LONGEST_WAIT_S = 30.0


async def fetch_archive(
    client: ServiceClient, epoch: int, download: Download, files: Executor
) -> tuple[str, str]:
    """Until it is there or nobody wants it: what is wrong with it, and what with this node."""
    backoff, wrong = Backoff(longest_s=LONGEST_WAIT_S), 0
    while download.wanted:
        try:
            await _once(client, epoch, download, files)
            return "", ""
        except RefusedError as trouble:
            return str(trouble), ""
        except OSError as error:
            return "", f"it cannot be stored on this node: {error}"
        except WrongBytesError as trouble:
            wrong += 1
            if wrong == TRIES:
                return "", str(trouble)
        except UnavailableError as trouble:
            wait_s = backoff.next_s()
            await asyncio.sleep(wait_s if trouble.retry_s is None else trouble.retry_s)
    return "", ""


async def _once(client: ServiceClient, epoch: int, download: Download, files: Executor) -> None:
    loop, part = asyncio.get_running_loop(), download.part
    before = await loop.run_in_executor(files, part.open)
    try:
        while not part.whole:
            if (ref := _asking(download)) is None:
                return
            async for offset, data in client.workdir(ref, epoch, part.size):
                if offset != part.size:
                    await loop.run_in_executor(files, part.restart)
                await loop.run_in_executor(files, part.write, data)
                if not download.wanted:
                    return
            if part.size == before:
                raise UnavailableError("a download that brings nothing")
            before = part.size
        await loop.run_in_executor(files, part.keep)
    finally:
        await loop.run_in_executor(files, part.close)


def _asking(download: Download) -> AttemptRef | None:
    """In whose name it is fetched; that one may be over before the others."""
    return next(iter(tuple(download.refs)), None)
