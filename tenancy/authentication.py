"""Bearer tokens: one round trip finds the caller and opens the connection's scope for it."""

from django.db import connection
from django.http import HttpRequest
from psycopg import OperationalError
from psycopg.pq import ExecStatus
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from tenancy.callers import Caller
from tenancy.roles import Role
from tenancy.token_text import hash_of, looks_like_token

SCHEME = "Bearer "
SCOPE_OPENED = "_fairwatt_scope_opened"


class BearerAuthentication(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[Caller, Caller] | None:
        if "HTTP_AUTHORIZATION" not in request.META:
            return None
        caller = caller_of(request._request)
        return caller, caller

    def authenticate_header(self, request: Request) -> str:
        return 'Bearer realm="fairwatt"'


def caller_of(request: HttpRequest) -> Caller:
    """Who sends the request, also for views that do without the framework."""
    secret_hash = hash_in(request)
    scope_opens(request)
    caller = login(secret_hash)
    if caller is None:
        raise AuthenticationFailed
    return caller


def hash_in(request: HttpRequest) -> bytes:
    """Of the token that the request carries."""
    return hash_in_header(request.META.get("HTTP_AUTHORIZATION", ""))


def hash_in_header(header: str) -> bytes:
    token = header[len(SCHEME) :].strip()
    if header[: len(SCHEME)].lower() != SCHEME.lower() or not looks_like_token(token):
        raise AuthenticationFailed
    return hash_of(token)


def token_is_live(header: str) -> bool:
    """Whether somebody who may come in sends it: asked before a large body is read."""
    token = header[len(SCHEME) :].strip()
    if header[: len(SCHEME)].lower() != SCHEME.lower() or not looks_like_token(token):
        return False
    try:
        return login(hash_of(token)) is not None
    finally:
        close_scope()


def scope_opens(request: HttpRequest) -> None:
    """Say so before it does: if opening fails half-way, the middleware still closes the scope."""
    setattr(request, SCOPE_OPENED, True)


def login(secret_hash: bytes) -> Caller | None:
    """The live token's caller; the database function also sets the row-level scope."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM fairwatt_login(%s)", [secret_hash])
        row = cursor.fetchone()
    if row is None:
        return None
    token_id, role, tenant_id, tenant_name, suspended, user_id, name, expires_at = row
    return Caller(
        token_id=token_id,
        role=Role(role),
        tenant_id=tenant_id,
        tenant_name=tenant_name,
        suspended=bool(suspended),
        user_id=user_id,
        token_name=name,
        expires_at=expires_at,
    )


def close_scope() -> None:
    """Back to what the process starts with, which in the API is nothing; if in doubt, reconnect."""
    raw = connection.connection
    if raw is None or raw.closed:
        return
    try:
        # Below the ORM on purpose: this runs after every request.
        done = raw.pgconn.exec_(b"RESET fairwatt.scope").status == ExecStatus.COMMAND_OK
    except OperationalError:
        done = False
    if not done:
        connection.close()
