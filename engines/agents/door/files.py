"""Archives down and artifacts up: the API's own views, on threads that no other message waits for.

A download holds a thread only while its next bytes are read, however slowly its node takes them.
"""

import asyncio
import re
from collections.abc import Callable, Iterator
from functools import partial

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase

from agent import wire
from agent.wire.bounds import FILE_NAME
from engines.agents import files_api
from engines.agents.door.threads import by_view
from rest.asgi import AsgiRequest, ClientGone, DjangoThreads, Send, send_answer, send_start
from rest.routing import ID

THREADS, MOST_WAITING = 2, 16
# A node that takes nothing for so long is gone.
SEND_S = 60.0

_WORKDIR = re.compile(wire.WORKDIR_PATH.format(attempt_id=f"(?P<attempt_id>{ID})") + "/?")
_ARTIFACT = re.compile(
    wire.ARTIFACT_PATH.format(attempt_id=f"(?P<attempt_id>{ID})", name=f"(?P<name>{FILE_NAME})")
    + "/?"
)
ROUTES: dict[str, tuple[re.Pattern[str], Callable[..., HttpResponseBase]]] = {
    wire.WORKDIR_PATH: (_WORKDIR, files_api.workdir),
    wire.ARTIFACT_PATH: (_ARTIFACT, files_api.artifact),
}


def route_of(path: str) -> str | None:
    """The address without its numbers, as the wire has it."""
    return next((route for route, (shape, _) in ROUTES.items() if shape.fullmatch(path)), None)


class FileDesk:
    def __init__(self) -> None:
        self._threads = DjangoThreads(THREADS, MOST_WAITING, "files")

    def close(self) -> None:
        self._threads.close()

    async def serve(self, route: str, ask: AsgiRequest, send: Send) -> None:
        shape, view = ROUTES[route]
        found = shape.fullmatch(ask.path)
        body = await ask.body(wire.MAX_PART_BYTES) if ask.method == "PUT" else b""
        named = found.groupdict() if found else {}
        request = ask.django_request(body)
        answer = await self._threads.run(by_view, partial(view, **named), request)
        if isinstance(answer, StreamingHttpResponse):
            await self._stream(send, answer)
        else:
            await send_answer(send, answer)

    async def _stream(self, send: Send, answer: StreamingHttpResponse) -> None:
        chunks: Iterator[bytes] = iter(answer)
        await send_start(send, answer)
        try:
            while chunk := await self._threads.run(next, chunks, b""):
                async with asyncio.timeout(SEND_S):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        except Exception as error:  # the answer has begun: all that is left is to stop
            raise ClientGone from error
        finally:
            answer.close()
