"""What granian serves (interface rsgi): reads a request, gives it to a lane, sends the answer."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpResponse
from granian.rsgi import (  # type: ignore[attr-defined]  # re-exported without saying so
    ProtocolClosed,
    ProtocolError,
)

from rest.problems import Problem, problem_from, response, too_large
from scheduler_service.front.bodies import (
    ANONYMOUS_BYTES,
    BodyBudget,
    Incoming,
    discard,
    length_required,
    read_body,
)
from scheduler_service.front.environ import Scope, address_of, environ_of
from scheduler_service.front.lanes import Lanes
from tenancy.authentication import token_is_live

# For each part of a stream: whoever does not read it holds a thread for no longer.
SEND_S = 10.0
ALIVE = b'{"status": "ok"}'
Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
Fields = list[tuple[str, str]]


class Outgoing(Protocol):
    async def send_bytes(self, data: bytes) -> None: ...


class Exchange(Incoming, Protocol):
    """The server's side of one request."""

    def response_bytes(self, status: int, headers: Fields, body: bytes) -> None: ...
    def response_stream(self, status: int, headers: Fields) -> Outgoing: ...


class Front:
    def __init__(self, application: Wsgi) -> None:
        self._application = application
        self._lanes, self._budget = Lanes(), BodyBudget()

    async def __rsgi__(self, scope: Scope, exchange: Exchange) -> None:
        if scope.path == "/healthz" and scope.method == "GET":
            # No thread, no database: it says that this process lives, and nothing else.
            exchange.response_bytes(200, [("Content-Type", "application/json")], ALIVE)
            return
        try:
            await self._answer(scope, exchange)
        except Problem as problem:
            _send(exchange, response(problem, scope.path))
            await discard(exchange)
        except (ProtocolClosed, ProtocolError, TimeoutError):
            # The client has left, or does not read what it asked for.
            return

    async def _answer(self, scope: Scope, exchange: Exchange) -> None:
        lane = self._lanes.of(scope.method, scope.path)
        declared = _declared(scope)
        if declared == 0:
            await lane.run(self._serve, scope, b"", exchange, asyncio.get_running_loop())
            return
        most = await self._most(scope, declared)
        with self._budget.reserved(address_of(scope), most if declared is None else declared):
            body = await read_body(exchange, most=most, declared=declared)
            await lane.run(self._serve, scope, body, exchange, asyncio.get_running_loop())

    async def _most(self, scope: Scope, declared: int | None) -> int:
        """How large the body may be: by its length, and by who sends it."""
        most: int = settings.MAX_BODY_BYTES
        if declared is not None and declared > most:
            raise too_large()
        if declared is not None and declared <= ANONYMOUS_BYTES:
            return declared
        bearer = scope.headers.get("authorization") or ""
        if not await self._lanes.requests.run(_is_known, bearer):
            raise length_required() if declared is None else too_large()
        return most

    def _serve(
        self, scope: Scope, body: bytes, exchange: Exchange, loop: asyncio.AbstractEventLoop
    ) -> None:
        """In a thread of the lane, until the last byte is handed over."""
        begun = Begun()
        answer = self._application(environ_of(scope, body), begun)
        try:
            if getattr(answer, "streaming", False) and scope.method != "HEAD":
                stream = exchange.response_stream(begun.status, begun.headers)
                for part in answer:
                    sent = asyncio.run_coroutine_threadsafe(_send_part(stream, part), loop)
                    sent.result(SEND_S)
            else:
                exchange.response_bytes(begun.status, begun.headers, b"".join(answer))
        finally:
            if close := getattr(answer, "close", None):
                close()


async def _send_part(stream: Outgoing, part: bytes) -> None:
    """A coroutine: what the server itself returns is none, and no loop takes it from a thread."""
    await stream.send_bytes(part)


class Begun:
    """WSGI's start_response."""

    status = 500
    headers: Fields = []

    def __call__(self, status: str, headers: Fields, exc_info: object = None) -> None:
        self.status, self.headers = int(status[:3]), headers


def _declared(scope: Scope) -> int | None:
    """Bytes of the body by its own word; None where it comes in chunks."""
    if "transfer-encoding" in scope.headers:  # type: ignore[operator]
        return None
    length = scope.headers.get("content-length") or "0"
    # What is no number was refused by the server; the body is then what ends with the connection.
    return int(length) if length.isascii() and length.isdigit() else 0


def _is_known(bearer: str) -> bool:
    try:
        return token_is_live(bearer)
    except DatabaseError as error:
        raise problem_from(error) from error


def _send(exchange: Exchange, answer: HttpResponse) -> None:
    exchange.response_bytes(answer.status_code, list(answer.items()), answer.content)
