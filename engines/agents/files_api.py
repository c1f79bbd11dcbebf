"""What agents fetch and send beside their messages: archives down, artifacts up.

Both under the node token, the epoch and the attempt's fence; docs/agent.md describes them.
"""

import time
from collections.abc import Callable
from threading import BoundedSemaphore
from typing import TypeVar

import msgspec
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import re_path
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from agent import wire
from agent.wire.bounds import FILE_NAME, Fence, Id
from engines.agents.artifact_intake import artifact_take, attempt_of
from engines.agents.authentication import sender_of
from engines.agents.stale import StaleEpoch
from rest.problems import Invalid, NotFound, Problem, problem_from, response
from rest.routing import ID
from storage.download import blob_response
from tenancy.throttles import WINDOW_S, budgets, too_many
from tenancy.token_text import hash_of

Asked = TypeVar("Asked", bound=msgspec.Struct)
View = Callable[..., HttpResponseBase]

# They read and write large bodies, and leave the other threads of a process to the syncs.
_TRANSFERS = BoundedSemaphore(2)


class _Fetch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The query of a download."""

    epoch: Id
    fence: Fence


def _answering(method: str, handle: Callable[..., HttpResponseBase]) -> View:
    @csrf_exempt
    def view(request: HttpRequest, **named: str) -> HttpResponseBase:
        try:
            if request.method != method:
                raise Problem(f"Use {method}.", code="method_not_allowed", status=405)
            _spend(request)
            return handle(request, **named)
        except Exception as error:  # noqa: BLE001  # the one place where errors become problems
            return response(problem_from(error), request.path)

    return view


def _spend(request: HttpRequest) -> None:
    who = hash_of(request.META.get("HTTP_AUTHORIZATION", "")).hex()[:32]
    now_s, limit = time.time(), settings.NODE_FILES_PER_MINUTE
    if not budgets("local:agents").take(f"files:{who}", limit, now_s):
        raise too_many(limit, WINDOW_S - int(now_s) % WINDOW_S)


def _workdir(request: HttpRequest, attempt_id: str) -> HttpResponseBase:
    sender, asked = sender_of(request), _query(_Fetch, request)
    if asked.epoch != sender.epoch:
        raise StaleEpoch
    attempt = attempt_of(sender.node_id, int(attempt_id), asked.fence)
    if attempt.job.workdir is None:
        raise NotFound("The attempt has no archive.")
    return blob_response(request, attempt.job.workdir, "workdir")


def _artifact(request: HttpRequest, attempt_id: str, name: str) -> HttpResponse:
    sender, part = sender_of(request), _query(wire.ArtifactPart, request)
    if part.epoch != sender.epoch:
        raise StaleEpoch
    if not _TRANSFERS.acquire(blocking=False):
        detail = "Too many transfers at once; keep it and come back."
        raise Problem(detail, code="busy", status=503, headers={"Retry-After": "1"})
    try:
        attempt = attempt_of(sender.node_id, int(attempt_id), part.fence)
        data = _body(request)
        taken = artifact_take(sender.node_id, attempt, name, part, data, now=timezone.now())
    finally:
        _TRANSFERS.release()
    return HttpResponse(wire.encode(taken), content_type="application/json")


def _query(kind: type[Asked], request: HttpRequest) -> Asked:
    try:
        return msgspec.convert(dict(request.GET.items()), kind, strict=False)
    except msgspec.ValidationError as error:
        raise Invalid.at("?", "invalid", str(error)) from None


def _body(request: HttpRequest) -> bytes:
    if len(request.body) > wire.MAX_PART_BYTES:
        detail = f"A part has at most {wire.MAX_PART_BYTES} bytes."
        raise Problem(detail, code="too_large", status=413)
    return request.body


workdir, artifact = _answering("GET", _workdir), _answering("PUT", _artifact)

_ATTEMPT = rf"^agent/attempts/(?P<attempt_id>{ID})"

urlpatterns = [
    re_path(rf"{_ATTEMPT}/workdir/?$", workdir),
    re_path(rf"{_ATTEMPT}/artifacts/(?P<name>{FILE_NAME})/?$", artifact),
]
