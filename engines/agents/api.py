"""What agents call: plain views, because a thousand nodes call them every few seconds.

Bodies are read and written by the wire's own codec; docs/agent.md describes the protocol, which is
not part of the public schema.
"""

import time
from collections.abc import Callable
from threading import BoundedSemaphore
from typing import Any, TypeVar

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import re_path
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from rest_framework.exceptions import AuthenticationFailed

from agent import wire
from clusters.models import Node
from engines.agents.authentication import sender_of
from engines.agents.leases import leases
from engines.agents.log_intake import logs_take
from engines.agents.registration import node_register
from engines.agents.sync import node_sync
from engines.agents.telemetry_intake import telemetry_take
from rest.problems import Forbidden, Invalid, Problem, problem_from, response
from tenancy.authentication import caller_of, scope_opens, token_is_live
from tenancy.callers import Caller
from tenancy.rls import ALL, set_scope
from tenancy.roles import Role
from tenancy.throttles import (
    WINDOW_S,
    WrongSecrets,
    address,
    budgets,
    too_many,
    wrong_secrets,
)
from tenancy.token_text import hash_of

Message = TypeVar("Message")
View = Callable[[HttpRequest], HttpResponse]

# All but one of a worker's threads: uploads, however many, leave that one to the syncs.
_UPLOADS = BoundedSemaphore(3)


def _answering(handle: Callable[[HttpRequest], Any]) -> View:
    @csrf_exempt
    def view(request: HttpRequest) -> HttpResponse:
        try:
            if request.method != "POST":
                raise Problem("Use POST.", code="method_not_allowed", status=405)
            return HttpResponse(wire.encode(handle(request)), content_type="application/json")
        except Exception as error:  # noqa: BLE001  # the one place where errors become problems
            return response(problem_from(error), request.path)

    return view


def _read(kind: type[Message], request: HttpRequest) -> Message:
    if len(request.body) > wire.MAX_BODY_BYTES:
        raise Problem("The message is too large.", code="body_too_large", status=413)
    return read(kind, request.body)


def read(kind: type[Message], body: bytes) -> Message:
    try:
        return wire.decode(kind, body)
    except wire.WireError as error:
        raise Invalid.at(error.pointer, "invalid", error.problem) from None


def _node_caller(request: HttpRequest) -> Caller:
    """Agents act for no tenant and see all rows; what they may touch is their own node's."""
    caller = caller_of(request)
    if caller.role is not Role.NODE:
        raise Problem("Only node tokens may call this.", code="missing_right", status=403)
    set_scope(ALL)
    return caller


def _spend(request: HttpRequest, kind: str, limit: int) -> None:
    spend(request.META.get("HTTP_AUTHORIZATION", ""), kind, limit)


def spend(authorization: str, kind: str, limit: int) -> None:
    """Before anything else is read or looked up: whoever floods costs next to nothing.

    Each process counts for itself: a round trip to a shared counter would cost every sync.
    """
    who = hash_of(authorization).hex()[:32]
    now_s = time.time()
    if not budgets("local:agents").take(f"{kind}:{who}", limit, now_s):
        raise too_many(limit, WINDOW_S - int(now_s) % WINDOW_S)


def _upload(request: HttpRequest, kind: str, limit: int, take: Callable[[], Any]) -> Any:
    _spend(request, kind, limit)
    if not _UPLOADS.acquire(blocking=False):
        detail = "Too many uploads at once; keep it and come back."
        raise Problem(detail, code="busy", status=503, headers={"Retry-After": "1"})
    try:
        return take()
    finally:
        _UPLOADS.release()


def admit_joining(request: HttpRequest) -> None:
    """Before a registration is read: not from whoever guesses join tokens."""
    _guesses().refuse_if_many(address(request), time.time())
    admit(request)


def admit(request: HttpRequest) -> None:
    """Before a body is read: not under a token that is not live. Who joins has none."""
    header = request.META.get("HTTP_AUTHORIZATION", "")
    if header and not token_is_live(header):
        raise AuthenticationFailed


def _guesses() -> WrongSecrets:
    return wrong_secrets(settings.CACHE_URL, "join", settings.WRONG_SECRETS_PER_MINUTE)


def _register(request: HttpRequest) -> wire.Registered:
    admit_joining(request)
    peer, now_s = address(request), time.time()
    message = _read(wire.Register, request)
    caller = None
    if message.join_token is None:
        caller = _node_caller(request)
    else:
        scope_opens(request)
        set_scope(ALL)
    try:
        joined = node_register(caller=caller, register=message, now=timezone.now())
    except Forbidden:
        _guesses().note(peer, now_s)
        raise
    granted = leases(Node.objects.exclude(last_sync_at=None).count())
    return wire.Registered(
        node_id=joined.node.pk,
        epoch=joined.node.epoch,
        next_sync_s=granted.next_sync_s,
        sample_interval_s=granted.sample_interval_s,
        upload_interval_s=granted.upload_interval_s,
        node_lease_s=granted.node_lease_s,
        run_lease_s=granted.run_lease_s,
        node_token=joined.secret,
    )


def _sync(request: HttpRequest) -> wire.Desired:
    _spend(request, "sync", settings.NODE_SYNCS_PER_MINUTE)
    sender = sender_of(request)
    return node_sync(sender.token_id, _read(wire.Sync, request), now=timezone.now())


def _telemetry(request: HttpRequest) -> wire.TelemetryTaken:
    def take() -> wire.TelemetryTaken:
        sender = sender_of(request)
        telemetry_take(sender, _read(wire.Telemetry, request), now=timezone.now())
        return wire.TelemetryTaken()

    taken: wire.TelemetryTaken = _upload(
        request, "telemetry", settings.NODE_TELEMETRY_PER_MINUTE, take
    )
    return taken


def _logs(request: HttpRequest) -> wire.LogsTaken:
    def take() -> wire.LogsTaken:
        sender = sender_of(request)
        return logs_take(sender, _read(wire.Logs, request), now=timezone.now())

    taken: wire.LogsTaken = _upload(request, "logs", settings.NODE_LOGS_PER_MINUTE, take)
    return taken


register, sync = _answering(_register), _answering(_sync)
telemetry, logs = _answering(_telemetry), _answering(_logs)

urlpatterns = [
    re_path(r"^agent/register/?$", register),
    re_path(r"^agent/sync/?$", sync),
    re_path(r"^agent/telemetry/?$", telemetry),
    re_path(r"^agent/logs/?$", logs),
]
