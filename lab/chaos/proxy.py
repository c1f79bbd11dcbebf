"""A TCP proxy whose wire can be cut, can fall silent, or can lose the answers alone."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum

from scheduler_service.embedded.ports import LOOPBACK, free_port

CHUNK_BYTES = 64 * 1024
GATE_S = 0.05  # how often a held chunk looks whether the wire is whole again

Address = tuple[str, int]


class ProxyWire(StrEnum):
    WHOLE = "whole"
    CUT = "cut"  # connections are reset, new ones at once
    SILENT = "silent"  # half open: nothing comes through and nobody is told
    ANSWERS_LOST = "answers_lost"  # requests arrive and are carried out; nobody hears of it


class Proxies:
    """Proxies of one event loop, in a thread of their own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def open(self, target: Callable[[], Address]) -> "Proxy":
        proxy = Proxy(target, self._loop)
        asyncio.run_coroutine_threadsafe(proxy.listen(), self._loop).result()
        return proxy

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(_end_tasks(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()


async def _end_tasks() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class Proxy:
    def __init__(self, target: Callable[[], Address], loop: asyncio.AbstractEventLoop) -> None:
        self.port = free_port()
        self.wire = ProxyWire.WHOLE
        self._target, self._loop = target, loop
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    def set(self, wire: ProxyWire) -> None:
        """Whoever was connected finds out now or when the wire is whole again: by a reset."""
        resets = wire is ProxyWire.CUT or (
            wire is ProxyWire.WHOLE and self.wire is not ProxyWire.WHOLE
        )
        self.wire = wire
        if resets:
            self._loop.call_soon_threadsafe(self._reset)

    async def listen(self) -> None:
        self._server = await asyncio.start_server(self._connected, LOOPBACK, self.port)

    def _reset(self) -> None:
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def _connected(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        self._writers.add(back)
        if self.wire is ProxyWire.CUT:
            self._reset()
            return
        try:
            far, forth = await asyncio.open_connection(*self._target())
        except OSError:
            back.transport.abort()
            return
        self._writers.add(forth)
        await asyncio.gather(
            self._carry(near, forth, answers=False), self._carry(far, back, answers=True)
        )
        self._writers -= {back, forth}

    async def _carry(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers: bool
    ) -> None:
        with suppress(OSError):
            while chunk := await reader.read(CHUNK_BYTES):
                while self._holds(answers=answers):
                    await asyncio.sleep(GATE_S)
                writer.write(chunk)
                await writer.drain()
            writer.close()
        if not writer.is_closing():
            writer.transport.abort()

    def _holds(self, *, answers: bool) -> bool:
        return self.wire is ProxyWire.SILENT or (answers and self.wire is ProxyWire.ANSWERS_LOST)
