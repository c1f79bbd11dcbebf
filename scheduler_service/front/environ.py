"""The environment of one request, as Django's WSGI handler reads it."""

import sys
from io import BytesIO
from typing import Any, Protocol

from django.conf import settings

# A value that is not ASCII; whoever reads that header refuses it.
UNREADABLE = "\ufffd"
_PLAIN = {"content-type": "CONTENT_TYPE", "content-length": "CONTENT_LENGTH"}


class Headers(Protocol):
    def keys(self) -> list[str]: ...
    def items(self) -> list[tuple[str, str]]: ...
    def get(self, key: str, default: Any = None) -> Any: ...


class Scope(Protocol):
    """What the server knows of a request before its body."""

    client: str
    server: str
    scheme: str
    method: str
    path: str
    query_string: str
    http_version: str
    authority: str | None
    headers: Headers


def peer_of(scope: Scope) -> str:
    return scope.client.rpartition(":")[0]


def address_of(scope: Scope) -> str:
    """Who sends it; in production the peer is the proxy, which says whom it heard from."""
    said = scope.headers.get("x-forwarded-for") if settings.PRODUCTION else None
    return str(said).rpartition(",")[2].strip() if said else peer_of(scope)


def environ_of(scope: Scope, body: bytes) -> dict[str, Any]:
    host, _, port = scope.server.rpartition(":")
    return {
        "REQUEST_METHOD": scope.method,
        "SCRIPT_NAME": "",
        # WSGI carries bytes as latin-1.
        "PATH_INFO": scope.path.encode("utf-8").decode("latin-1"),
        "QUERY_STRING": scope.query_string,
        "SERVER_NAME": host,
        "SERVER_PORT": port,
        "SERVER_PROTOCOL": f"HTTP/{scope.http_version}",
        "REMOTE_ADDR": peer_of(scope),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.scheme,
        "wsgi.input": BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        **_headers(scope),
        "CONTENT_LENGTH": str(len(body)) if body else "",
    }


def _headers(scope: Scope) -> dict[str, str]:
    found: dict[str, str] = {}
    if scope.authority:
        found["HTTP_HOST"] = scope.authority
    for name, value in scope.headers.items():
        key = _key(name)
        found[key] = f"{found[key]},{value}" if key in found else value
    for name in scope.headers.keys():  # noqa: SIM118 - it is no dictionary
        found.setdefault(_key(name), UNREADABLE)
    # One that is spelt with an underscore would pass for the real one.
    for name in scope.headers.keys():  # noqa: SIM118
        if "_" in name:
            found.pop(_key(name), None)
    # It is whole by now.
    found.pop("HTTP_TRANSFER_ENCODING", None)
    return found


def _key(name: str) -> str:
    return _PLAIN.get(name) or f"HTTP_{name.upper().replace('-', '_')}"
