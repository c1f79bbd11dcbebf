"""The addresses that can be followed, as an ASGI application.

The views of the API say who may follow what (`EventsToFollow` and its like), with their rights,
throttles and words; here is only the waiting.
"""

import asyncio

from django.conf import settings
from django.http.response import HttpResponseBase

from jobs.api.event_stream import WAITS_ITSELF, EventsToFollow
from jobs.api.followers.events import EventFollowers
from jobs.api.followers.logs import LogFollowers
from jobs.api.followers.many_events import ManyEventFollowers
from jobs.api.followers.places import Places
from jobs.api.logs import FirstLogToFollow, LogToFollow
from jobs.api.many_events import ManyEventsToFollow
from rest.asgi import AsgiRequest, ClientGone, DjangoSite, DjangoThreads, Send, send_answer, within
from rest.problems import problem_from, response
from tenancy.async_pool import AsyncPool

OPEN_S = 30.0


class Followers:
    def __init__(self, pool: AsyncPool) -> None:
        self._site = DjangoSite()
        self._threads = DjangoThreads(settings.STREAM_THREADS, settings.STREAMS_MAX, "streams")
        self.places = Places(settings.STREAMS_MAX, settings.STREAMS_PER_TENANT)
        self.events, self.logs = EventFollowers(pool), LogFollowers(pool)
        self.many = ManyEventFollowers(pool)

    async def work(self) -> None:
        """What goes on beside the requests, for ever."""
        await asyncio.gather(self.logs.keep_looking(), self.many.keep_looking())

    def tell(self, job_id: str) -> None:
        """The job has moved."""
        self.events.tell(job_id)
        self.many.ring()

    def tell_all(self) -> None:
        """When moves may have been missed."""
        self.events.tell_all()
        self.many.ring()

    def close(self) -> None:
        self._threads.close()

    async def serve(self, ask: AsgiRequest, send: Send) -> None:
        try:
            answer = await self._ask(ask, "yes")
            if isinstance(answer, EventsToFollow):
                with self.places.take(answer.caller):
                    await self.events.follow(answer, ask, send)
                return
            if isinstance(answer, ManyEventsToFollow):
                with self.places.take(answer.caller):
                    await self.many.follow(answer, ask, send)
                return
            if isinstance(answer, FirstLogToFollow):
                with self.places.take(answer.caller):
                    await self.logs.wait_for_first(answer, ask)
                answer = await self._ask(ask, "over")
            if isinstance(answer, LogToFollow):
                with self.places.take(answer.caller):
                    await self.logs.wait(answer, ask)
                answer = await self._ask(ask, "over")
        except ClientGone:
            return
        except Exception as error:  # noqa: BLE001  # the one place where errors become problems
            answer = response(problem_from(error), ask.path)
        await send_answer(send, answer)

    async def _ask(self, ask: AsgiRequest, waits: str) -> HttpResponseBase:
        """A body is nobody's business here; the server throws it away."""
        request = ask.django_request(meta={WAITS_ITSELF: waits})
        async with within(OPEN_S):
            return await self._threads.run(self._site.answer, request)
