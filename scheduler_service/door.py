"""The door: an asynchronous process for agents, and for tenants who follow jobs and logs."""

import asyncio
import re
import time
import uuid
from contextlib import suppress

from django.conf import settings
from psycopg import AsyncConnection
from structlog.contextvars import bind_contextvars

from agent import wire
from engines.agents.door.app import UPLOADS, AgentDoor
from engines.agents.door.files import route_of
from jobs.api.followers.app import Followers
from rest.asgi import (
    AsgiRequest,
    DjangoSite,
    DjangoThreads,
    Message,
    Receive,
    Scope,
    Send,
    send_answer,
)
from rest.notices import Notices
from rest.problems import NotFound, problem_from, response
from scheduler_service.metrics import LATENCY, REQUESTS
from tenancy.async_pool import AsyncPool, parameters
from webhooks.delivering import Deliveries
from webhooks.post import Poster

AGENTS = "/api/v1/agent/"
ROUTES = {wire.SYNC_PATH, wire.BELL_PATH, *UPLOADS}
FOLLOWED = re.compile(r"/api/v1/jobs/([^/]+/(events|logs)|events)/?")
WATCHED = ("/healthz", "/readyz", "/metrics")


async def _connect() -> AsyncConnection[tuple[object, ...]]:
    return await AsyncConnection.connect(**parameters(), autocommit=True)


def _counted(ask: AsgiRequest, send: Send) -> Send:
    """Beside the API's figures; how long a bell rang is none of them."""
    begun_s = time.perf_counter()
    # Anything else that a client invents would make a new time series.
    method = ask.method if ask.method in {"GET", "POST", "PUT"} else "other"
    message = ask.path.rstrip("/") if ask.path.rstrip("/") in ROUTES else "unmatched"
    route = route_of(ask.path) or message

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            REQUESTS.labels(method, route, message["status"]).inc()
            LATENCY.labels(method, route).observe(time.perf_counter() - begun_s)
        await send(message)

    return sent


class Door:
    """Starts with its first message, in the process and loop that will serve."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        self._pool = AsyncPool(settings.DOOR_POOL)
        await self._pool.open()
        self.agents, self.followers = AgentDoor(self._pool), Followers(self._pool)
        self.deliveries = Deliveries(self._pool, Poster(settings.WEBHOOK_NETWORKS))
        self._site, self._threads = DjangoSite(), DjangoThreads(1, 8, "health")
        channels = {
            "fairwatt_nodes": self.agents.bells.ring,
            "fairwatt_jobs": self.followers.tell,
            "fairwatt_webhooks": self.deliveries.ring,
        }
        notices = Notices(_connect, channels, self._missed)
        works = (notices.listen(), self.agents.work(), self.followers.work())
        for work in (*works, self.deliveries.keep_sending()):
            self._tasks.append(asyncio.create_task(work))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        for part in (self.agents, self.followers, self._threads):
            await asyncio.to_thread(part.close)
        await self._pool.close()

    def _missed(self) -> None:
        self.agents.bells.ring_all()
        self.followers.tell_all()

    async def serve(self, ask: AsgiRequest, send: Send) -> None:
        bind_contextvars(request_id=uuid.uuid4().hex)
        if ask.path.startswith(AGENTS):
            await self.agents.serve(ask, _counted(ask, send))
        elif FOLLOWED.fullmatch(ask.path):
            await self.followers.serve(ask, send)
        else:
            await self._serve_else(ask, send)

    async def _serve_else(self, ask: AsgiRequest, send: Send) -> None:
        try:
            if ask.path not in WATCHED:
                detail = "This is the door of agents and followers; ask the API for the rest."
                raise NotFound(detail)
            answer = await self._threads.run(self._site.answer, ask.django_request())
        except Exception as error:  # noqa: BLE001  # the one place where errors become problems
            answer = response(problem_from(error), ask.path)
        await send_answer(send, answer)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self.serve(AsgiRequest(scope, receive), send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await self.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.stop()
        await send({"type": "lifespan.shutdown.complete"})
