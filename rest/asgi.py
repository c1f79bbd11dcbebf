"""Requests of an asynchronous process: read within bounds, and answered on a few Django threads."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from io import BytesIO
from threading import Barrier, BrokenBarrierError
from typing import Any, ParamSpec, TypeVar

from django.core.handlers.base import BaseHandler
from django.core.handlers.wsgi import WSGIRequest
from django.db import close_old_connections, connection, connections
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import get_resolver, set_script_prefix

from rest.problems import Problem

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

# Whoever sends slower than that holds memory, though no thread.
BODY_S = 10.0
CLOSE_S = 2.0


class ClientGone(Exception):
    """The connection is closed: nobody is left to answer."""


@dataclass(frozen=True)
class AsgiRequest:
    """One request, before its body."""

    scope: Scope
    receive: Receive

    @property
    def method(self) -> str:
        return str(self.scope["method"])

    @property
    def path(self) -> str:
        return str(self.scope["path"])

    @cached_property
    def headers(self) -> dict[str, str]:
        """Names in lower case; of a name that stands twice, the values joined as RFC 9110 says."""
        found: dict[str, str] = {}
        for raw_name, raw_value in self.scope["headers"]:
            name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
            found[name] = f"{found[name]},{value}" if name in found else value
        return found

    @property
    def authorization(self) -> str:
        return self.headers.get("authorization", "")

    def declares_more_than(self, size: int) -> bool:
        declared = self.headers.get("content-length", "")
        return declared.isascii() and declared.isdigit() and int(declared) > size

    async def body(self, most: int) -> bytes:
        """Its length is known before it is read, and it comes in time."""
        _check_length(self.headers, most)
        pieces, size = [], 0
        try:
            async with asyncio.timeout(BODY_S):
                while True:
                    message = await self.receive()
                    if message["type"] == "http.disconnect":
                        raise ClientGone
                    pieces.append(message.get("body", b""))
                    size += len(pieces[-1])
                    if size > most:
                        raise _too_large()
                    if not message.get("more_body"):
                        return b"".join(pieces)
        except TimeoutError:
            detail = "The body did not come in time."
            raise Problem(detail, code="body_too_slow", status=408) from None

    async def gone(self) -> None:
        """Until the client has closed the connection; what else it sends is thrown away."""
        while (await self.receive())["type"] != "http.disconnect":
            pass

    def django_request(
        self, body: bytes = b"", meta: Mapping[str, str] | None = None
    ) -> WSGIRequest:
        """What Django's views take."""
        host, port = (*(self.scope.get("server") or ()), "", "")[:2]
        environ = {
            "REQUEST_METHOD": self.method,
            "PATH_INFO": self.path,
            "QUERY_STRING": self.scope.get("query_string", b"").decode("latin-1"),
            "SERVER_NAME": str(host) or "localhost",
            "SERVER_PORT": str(port) or "80",
            "REMOTE_ADDR": str((self.scope.get("client") or ("",))[0]),
            "wsgi.input": BytesIO(body),
            "wsgi.url_scheme": self.scope.get("scheme", "http"),
            **{_meta_name(name): value for name, value in self.headers.items()},
            "CONTENT_LENGTH": str(len(body)),
            **(meta or {}),
        }
        # The body has been read whole: its length stands, however it came.
        environ.pop("HTTP_TRANSFER_ENCODING", None)
        return WSGIRequest(environ)


def _meta_name(name: str) -> str:
    upper = name.upper().replace("-", "_")
    return upper if upper in {"CONTENT_TYPE", "CONTENT_LENGTH"} else f"HTTP_{upper}"


def _check_length(headers: dict[str, str], most: int) -> None:
    declared = headers.get("content-length")
    if declared is None:
        detail = "Say the body's length in Content-Length."
        raise Problem(detail, code="length_required", status=411)
    if not (declared.isascii() and declared.isdigit()):
        raise Problem("Content-Length is not a number.", code="bad_content_length")
    if int(declared) > most:
        raise _too_large()


def _too_large() -> Problem:
    return Problem("The message is too large.", code="body_too_large", status=413)


@asynccontextmanager
async def within(longest_s: float) -> AsyncIterator[None]:
    """A database that has stopped without a word must not hold whoever asks."""
    try:
        async with asyncio.timeout(longest_s):
            yield
    except TimeoutError:
        detail = "There was no answer in time; come back."
        raise Problem(detail, code="busy", status=503, headers={"Retry-After": "1"}) from None


async def send_start(send: Send, answer: HttpResponseBase) -> None:
    """Of an answer whose body follows piece by piece; its headers say how long that is."""
    headers = [
        (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in answer.items()
    ]
    await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})


async def send_answer(send: Send, answer: HttpResponseBase) -> None:
    body = answer.content if isinstance(answer, HttpResponse) else b""
    headers = [
        (name.lower().encode("latin-1"), value.encode("latin-1"))
        for name, value in answer.items()
        if name.lower() != "content-length"
    ]
    if answer.status_code != 204:
        headers.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class DjangoThreads:
    """A few threads with a database connection each; who finds too many waiting is turned away."""

    def __init__(self, threads: int, most_waiting: int, name: str) -> None:
        self._threads, self._executor = threads, ThreadPoolExecutor(threads, name)
        self._most, self._waiting = threads + most_waiting, 0

    async def run(
        self,
        act: Callable[Arguments, Result],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        if self._waiting >= self._most:
            detail = "Too many requests at once; keep it and come back."
            raise Problem(detail, code="busy", status=503, headers={"Retry-After": "1"})
        self._waiting += 1
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._executor, partial(_on_thread, act, *args, **kwargs))
        # A place is free when the thread is, also if nobody waits for its result any more.
        work.add_done_callback(self._done)
        return await asyncio.shield(work)

    def _done(self, work: asyncio.Future[Any]) -> None:
        self._waiting -= 1
        if not work.cancelled():
            work.exception()

    def close(self) -> None:
        """Each thread ends its connection, unless it is busy for longer than anybody waits."""
        together = Barrier(self._threads)
        closing = [
            self._executor.submit(_close_connections, together) for _ in range(self._threads)
        ]
        wait(closing, CLOSE_S)
        self._executor.shutdown(wait=False, cancel_futures=True)


class DjangoSite:
    """All of Django, for a request that is answered by the very view of the API."""

    def __init__(self) -> None:
        self._handler = BaseHandler()
        self._handler.load_middleware()
        # All views are imported now, not while the first client waits.
        _ = get_resolver().url_patterns

    def answer(self, request: WSGIRequest) -> HttpResponseBase:
        set_script_prefix("/")
        answer = self._handler.get_response(request)
        answer.close()
        return answer


def _close_connections(together: Barrier) -> None:
    """They meet, so that no thread does it twice and another never."""
    with suppress(BrokenBarrierError):
        together.wait(CLOSE_S)
    connections.close_all()


def _on_thread(
    act: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
) -> Result:
    close_old_connections()
    # Whether the connection still lives is not asked first: if not, the caller comes again.
    connection.health_check_done = True  # type: ignore[attr-defined]
    return act(*args, **kwargs)
