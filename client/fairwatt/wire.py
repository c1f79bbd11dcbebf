"""Requests as httpx2 sends them, and its faults in our words: what both clients share."""

import ssl
from collections.abc import Mapping
from typing import Any

import httpx2
import msgspec

from fairwatt.call import Call
from fairwatt.errors import FairwattError, Unreachable

API = "/api/v1/"
NOTHING = (httpx2.TransportError, httpx2.InvalidURL, OSError)


def address_of(url: str) -> str:
    """The service's address without the path of the API, however it was typed."""
    typed = url.strip() if "://" in url else f"http://{url.strip()}"
    try:
        found = httpx2.URL(typed)
    except httpx2.InvalidURL:
        found = httpx2.URL("")
    if found.scheme not in {"http", "https"} or not found.host:
        raise FairwattError(
            f"{url!r} is no address of a service.",
            "Give one such as https://fairwatt.example or http://127.0.0.1:8000.",
        )
    return typed.rstrip("/").removesuffix("/api/v1").rstrip("/")


def settings(url: str, token: str | None) -> dict[str, Any]:
    """Of an httpx2 client. Certificates take long to load, so only https does."""
    headers = {"User-Agent": "fairwatt-client/0.1.0", "Accept": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {_visible(token.strip())}"
    return {
        "base_url": f"{url}{API}",
        "headers": headers,
        "verify": url.startswith("https:"),
        "follow_redirects": False,
    }


def _visible(token: str) -> str:
    if not (token.isascii() and token.isprintable()):
        raise FairwattError(
            "The token has characters that no token has.", "Copy it again: it begins with fw_."
        )
    return token


def request_of(call: Call[Any], timeout_s: float) -> dict[str, Any]:
    headers = dict(call.headers)
    content = None
    if call.body is not None:
        content = call.body if isinstance(call.body, bytes) else msgspec.json.encode(call.body)
        headers.setdefault("Content-Type", "application/json")
    return {
        "method": call.method,
        "url": call.path,
        "params": {name: _text(value) for name, value in call.query.items()},
        "content": content,
        "headers": headers,
        "timeout": timeout_s,
    }


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return msgspec.to_builtins(value) if hasattr(value, "isoformat") else str(value)


def unreachable(url: str, error: Exception) -> Unreachable:
    return Unreachable(
        f"The service at {url} does not answer: {_reason(error)}.",
        "Check the address (FAIRWATT_URL, or `fairwatt login URL`) and whether it runs:"
        f" curl {url}/healthz",
    )


def _reason(error: Exception) -> str:
    """The innermost cause, which is the one that a person can do something about."""
    cause: BaseException = error
    while (deeper := cause.__cause__ or cause.__context__) is not None:
        cause = deeper
    if isinstance(error, httpx2.TimeoutException):
        return "no answer in time"
    if isinstance(cause, ConnectionRefusedError):
        return "nobody listens there"
    if isinstance(cause, ssl.SSLError):
        return f"its certificate is not accepted ({cause.reason})"
    return str(cause) or type(cause).__name__


def plain(headers: Mapping[str, str]) -> Mapping[str, str]:
    return {name.lower(): value for name, value in headers.items()}
