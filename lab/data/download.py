"""One file over HTTP: streamed to disk, resumed where it broke, bounded in size and time."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

import httpx

from lab.data.errors import BrokenTransfer, DataError, SourceUnreachable, WrongContent


@dataclass(frozen=True, slots=True)
class Limits:
    """`silent_s` without a byte, or fewer bytes per second for longer than that, is too slow."""

    silent_s: float = 20.0
    slowest_bytes_per_s: float = 1_000.0
    attempts: int = 3
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True)
class DownloadOrder:
    """`exact_bytes` where the size is known before; never more than `most_bytes`."""

    url: str
    most_bytes: int
    exact_bytes: int | None = None


OnBytes = Callable[[int], None]
"""Called with all the bytes that are there so far."""


def client_with(limits: Limits) -> httpx.Client:
    # Resuming counts bytes as they are stored, so nothing may be compressed on the way.
    headers = {"Accept-Encoding": "identity", "User-Agent": "fairwatt-lab"}
    return httpx.Client(timeout=limits.silent_s, headers=headers, follow_redirects=True)


def download(
    client: httpx.Client, wanted: DownloadOrder, part: Path, limits: Limits, on_bytes: OnBytes
) -> None:
    """Into `part`; what it holds already is not asked for again."""
    for attempt in range(1, limits.attempts + 1):
        try:
            _receive(client, wanted, part, limits, on_bytes)
        except BrokenTransfer:
            if attempt == limits.attempts:
                raise
        else:
            return


def _receive(
    client: httpx.Client, wanted: DownloadOrder, part: Path, limits: Limits, on_bytes: OnBytes
) -> None:
    have = part.stat().st_size if part.exists() else 0
    if have == wanted.exact_bytes:
        return
    headers = {"Range": f"bytes={have}-"} if have else {}
    try:
        with client.stream("GET", wanted.url, headers=headers) as response:
            _refuse_errors(response, part)
            kept = have if _goes_on_from(response, have) else 0
            total = _store(response, wanted, part, kept=kept, limits=limits, on_bytes=on_bytes)
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise DataError(f"{wanted.url}: {error}") from error
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
        raise SourceUnreachable(
            f"{wanted.url}: no connection ({error}); is there a way out, or a --mirror?"
        ) from error
    except (httpx.TransportError, httpx.TooManyRedirects) as error:
        what = str(error) or type(error).__name__
        raise BrokenTransfer(f"{wanted.url}: {what}; fetch again to go on") from error
    if wanted.exact_bytes is not None and total < wanted.exact_bytes:
        raise BrokenTransfer(
            f"{wanted.url}: ended after {total} of {wanted.exact_bytes} bytes; fetch again to go on"
        )


def _refuse_errors(response: httpx.Response, part: Path) -> None:
    status = response.status_code
    if status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        part.unlink(missing_ok=True)
        raise BrokenTransfer(f"{response.url}: cannot be resumed; fetch again to restart")
    if status in {HTTPStatus.NOT_FOUND, HTTPStatus.GONE}:
        raise DataError(f"{response.url}: {status}, it is not there (any more); try a --mirror")
    if not response.is_success:
        raise DataError(f"{response.url}: {status} {response.reason_phrase}; try again later")


def _goes_on_from(response: httpx.Response, have: int) -> bool:
    """A server without ranges sends everything again."""
    told = response.headers.get("Content-Range", "")
    return response.status_code == HTTPStatus.PARTIAL_CONTENT and told.startswith(f"bytes {have}-")


def _store(
    response: httpx.Response,
    wanted: DownloadOrder,
    part: Path,
    *,
    kept: int,
    limits: Limits,
    on_bytes: OnBytes,
) -> int:
    total, began_s = kept, limits.clock()
    with part.open("ab" if kept else "wb") as file:
        for chunk in response.iter_raw():
            total += len(chunk)
            if total > wanted.most_bytes:
                break
            file.write(chunk)
            on_bytes(total)
            _refuse_slow(wanted.url, total - kept, limits.clock() - began_s, limits)
    if total > wanted.most_bytes:
        part.unlink()
        raise WrongContent(f"{wanted.url}: more than the {wanted.most_bytes} bytes expected")
    return total


def _refuse_slow(url: str, received: int, took_s: float, limits: Limits) -> None:
    if took_s > limits.silent_s and received < limits.slowest_bytes_per_s * took_s:
        raise DataError(
            f"{url}: too slow ({received} bytes in {took_s:.0f} s); fetch again to go on"
        )
