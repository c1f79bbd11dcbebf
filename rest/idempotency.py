"""Idempotency-Key: the same POST sent twice has one effect and one answer."""

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec
from django.db import connection
from django.http import HttpRequest, HttpResponse

from rest.json import encode
from rest.models import IdempotencyKey
from rest.problems import Conflict, Invalid, Problem

HEADER = "Idempotency-Key"
REPLAY_HEADER = "Idempotent-Replay"
LIFETIME = timedelta(hours=24)
KEPT_HEADERS = ("Location", "ETag")
PATTERN = r"^[\x21-\x7e]{1,255}$"
_VISIBLE = re.compile(PATTERN[1:-1])

# Two statements, sent at once: the second sees what whoever held the lock before has stored. In one
# its snapshot may be older than the lock, and the effect is tried again.
_CLAIM = """
SELECT pg_try_advisory_xact_lock(%s);
SELECT request_digest, status, headers::text, body FROM rest_idempotencykey
WHERE digest = %s AND created_at > now() - interval '24 hours'
"""
_KEEP = """
INSERT INTO rest_idempotencykey (digest, request_digest, status, headers, body, created_at)
VALUES (%s, %s, %s, %s, %s, now())
ON CONFLICT (digest) DO UPDATE SET
  request_digest = excluded.request_digest, status = excluded.status,
  headers = excluded.headers, body = excluded.body, created_at = excluded.created_at
WHERE rest_idempotencykey.created_at <= now() - interval '24 hours'
"""


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to answer one keyed request, held until the surrounding transaction ends."""

    digest: bytes
    request_digest: bytes

    def keep(self, answer: HttpResponse, body: bytes | None = None) -> None:
        """Store a 2xx answer; `body` replaces one that carries a secret."""
        if not 200 <= answer.status_code < 300:
            return
        headers = {name: answer[name] for name in KEPT_HEADERS if name in answer}
        kept = answer.content if body is None else body
        with connection.cursor() as cursor:
            cursor.execute(
                _KEEP,
                [
                    self.digest,
                    self.request_digest,
                    answer.status_code,
                    encode(headers).decode(),
                    kept,
                ],
            )
            if cursor.rowcount != 1:
                raise in_flight()


def key_of(request: HttpRequest) -> str | None:
    key = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if key is not None and not _VISIBLE.fullmatch(key):
        detail = f"{HEADER} must be 1 to 255 visible ASCII characters."
        raise Invalid.at(HEADER, "invalid_idempotency_key", detail)
    return key


def claim(request: HttpRequest, identity: str, key: str) -> Claim | HttpResponse:
    """The claim, or the stored answer; call it first inside the transaction of the effect."""
    digest = hashlib.sha256(f"{identity}\0{key}".encode()).digest()
    request_digest = _request_digest(request)
    lock = int.from_bytes(digest[:8], "big", signed=True)
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, [lock, digest])
        (locked,) = cursor.fetchone()
        cursor.nextset()
        known = cursor.fetchone()
    if known is not None:
        known_digest, status, headers, body = known
        if bytes(known_digest) != request_digest:
            raise Problem(
                f"This {HEADER} was used for another request; choose a new one.",
                code="idempotency_key_reused",
                status=422,
            )
        return _replay(status, headers, bytes(body))
    if not locked:
        raise in_flight()
    return Claim(digest, request_digest)


def in_flight() -> Conflict:
    return Conflict(
        f"A request with this {HEADER} is still being answered; retry in a moment.",
        code="idempotency_in_flight",
    )


def _request_digest(request: HttpRequest) -> bytes:
    asked = request.META.get("QUERY_STRING", "")
    digest = hashlib.sha256(f"{request.method} {request.path.rstrip('/')}?{asked}\0".encode())
    digest.update(request.body)
    return digest.digest()


def _replay(status: int, headers: str, body: bytes) -> HttpResponse:
    kept: dict[str, str] = msgspec.json.decode(headers, type=dict[str, str])
    return HttpResponse(
        body,
        status=status,
        content_type="application/json",
        headers={**kept, REPLAY_HEADER: "true"},
    )


def purge(now: datetime) -> int:
    """Forget answers older than their lifetime; returns how many."""
    return IdempotencyKey.objects.filter(created_at__lte=now - LIFETIME).delete()[0]
