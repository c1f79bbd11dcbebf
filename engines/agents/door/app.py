"""The agents' addresses as an ASGI application; docs/agents-service.md says how it works."""

from django.conf import settings
from django.http import HttpResponse

from agent import wire
from engines.agents import api
from engines.agents.door.bells import Bells
from engines.agents.door.files import FileDesk, route_of
from engines.agents.door.heard import Hearing
from engines.agents.door.progress import ProgressNotes
from engines.agents.door.syncs import SyncDesk
from engines.agents.door.uploads import UploadDesk, View
from rest.asgi import AsgiRequest, ClientGone, DjangoThreads, Send, send_answer, within
from rest.problems import NotFound, Problem, problem_from, response
from tenancy.async_pool import AsyncPool

# Longer than a statement may wait for a lock.
SYNC_S = 15.0
UPLOADS = {
    wire.REGISTER_PATH: api.register,
    wire.TELEMETRY_PATH: api.telemetry,
    wire.LOGS_PATH: api.logs,
}


class AgentDoor:
    def __init__(self, pool: AsyncPool) -> None:
        self._sync_threads = DjangoThreads(
            settings.DOOR_SYNC_THREADS, settings.DOOR_SYNCS_WAITING, "sync"
        )
        self._upload_threads = DjangoThreads(
            settings.DOOR_UPLOAD_THREADS, settings.DOOR_UPLOADS_WAITING, "upload"
        )
        self.bells, self._notes = Bells(pool), ProgressNotes(pool)
        self._syncs = SyncDesk(Hearing(pool), self._notes, self._sync_threads)
        self._files = FileDesk()
        self._uploads = UploadDesk(self._upload_threads, settings.DOOR_UPLOADS_WAITING)

    async def work(self) -> None:
        """What goes on beside the requests, for ever."""
        await self._notes.keep_writing()

    def close(self) -> None:
        self._sync_threads.close()
        self._upload_threads.close()
        self._files.close()

    async def serve(self, ask: AsgiRequest, send: Send) -> None:
        path = ask.path.rstrip("/")
        try:
            if path == wire.BELL_PATH:
                _check_method(ask, "GET")
                await self.bells.keep(ask, send)
                return
            if (route := route_of(ask.path)) is not None:
                await self._files.serve(route, ask, send)
                return
            _check_method(ask, "POST")
            if path == wire.SYNC_PATH:
                answer = await self._sync(ask)
            else:
                joins = path == wire.REGISTER_PATH
                answer = await self._uploads.take(_view(path), ask, joins=joins)
        except ClientGone:
            return
        except Exception as error:  # noqa: BLE001  # the one place where errors become problems
            answer = response(problem_from(error), ask.path)
        await send_answer(send, answer)

    async def _sync(self, ask: AsgiRequest) -> HttpResponse:
        async with within(SYNC_S):
            desired = await self._syncs.sync(ask)
        return HttpResponse(wire.encode(desired), content_type="application/json")


def _view(path: str) -> View:
    if path not in UPLOADS:
        raise NotFound
    return UPLOADS[path]


def _check_method(ask: AsgiRequest, method: str) -> None:
    if ask.method != method:
        raise Problem(
            f"Use {method}.", code="method_not_allowed", status=405, headers={"Allow": method}
        )
