"""The client of the service: one request in, one typed answer or one of four troubles out."""

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import httpx
from msgspec import to_builtins

from agent.wire import (
    ARTIFACT_PATH,
    BELL_PATH,
    LOGS_PATH,
    REGISTER_PATH,
    SYNC_PATH,
    TELEMETRY_PATH,
    WORKDIR_PATH,
    ArtifactPart,
    ArtifactTaken,
    AttemptRef,
    Code,
    Desired,
    Logs,
    LogsTaken,
    Register,
    Registered,
    ReportedProblem,
    Sync,
    Telemetry,
    TelemetryTaken,
    Unreadable,
    WireError,
    decode_answer,
    decode_desired,
    encode,
)

Answer = TypeVar("Answer")
TIMEOUT_S = 10.0
LONGEST_RETRY_S = 60.0
FILE_TIMEOUT_S = 60.0
RING = b"ring"
# The service writes a line every ten seconds.
BELL_SILENCE_S = 30.0


class UnavailableError(Exception):
    """No usable answer: try again, in `retry_s` if the service named a time."""

    def __init__(self, why: str, retry_s: float | None = None) -> None:
        super().__init__(why)
        self.retry_s = retry_s


class RefusedError(Exception):
    """The service understood and says no; repeating the same will not help."""


class NotAdmittedError(RefusedError):
    """The token is not, or no longer, good."""


class FencedError(Exception):
    """Another agent has registered as this node."""


class StaleAttemptsError(Exception):
    def __init__(self, stale: tuple[AttemptRef, ...]) -> None:
        super().__init__(f"{len(stale)} attempts are no longer this node's")
        self.stale = stale


class ServiceClient:
    """The token goes into the header of every request and nowhere else."""

    def __init__(self, server: str, token: str | None, timeout_s: float = TIMEOUT_S) -> None:
        self.token = token
        self.timeout_s = timeout_s
        self._client = httpx.AsyncClient(base_url=server)

    async def register(self, message: Register) -> Registered:
        return await self._post(REGISTER_PATH, encode(message), partial(decode_answer, Registered))

    async def sync(self, message: Sync) -> tuple[Desired, tuple[Unreadable, ...]]:
        return await self._post(SYNC_PATH, encode(message), decode_desired)

    async def telemetry(self, message: Telemetry) -> TelemetryTaken:
        return await self._post(
            TELEMETRY_PATH, encode(message), partial(decode_answer, TelemetryTaken)
        )

    async def logs(self, message: Logs) -> LogsTaken:
        return await self._post(LOGS_PATH, encode(message), partial(decode_answer, LogsTaken))

    async def workdir(
        self, ref: AttemptRef, epoch: int, start: int
    ) -> AsyncIterator[tuple[int, bytes]]:
        """The archive from a byte on, or from 0 where the service knows no ranges: pieces of it."""
        query = {"epoch": epoch, "fence": ref.fence}
        headers = self._headers() | ({"Range": f"bytes={start}-"} if start else {})
        path = WORKDIR_PATH.format(attempt_id=ref.attempt_id)
        try:
            async with self._client.stream(
                "GET", path, params=query, headers=headers, timeout=self._file_timeout
            ) as response:
                if not response.is_success:
                    raise trouble(response.status_code, await response.aread(), response.headers)
                offset = start if response.status_code == httpx.codes.PARTIAL_CONTENT else 0
                async for data in response.aiter_raw():
                    yield offset, data
                    offset += len(data)
        except httpx.HTTPError as error:
            raise UnavailableError(f"{type(error).__name__}: {error}") from error

    async def artifact(
        self, ref: AttemptRef, name: str, part: ArtifactPart, data: bytes
    ) -> ArtifactTaken:
        path = ARTIFACT_PATH.format(attempt_id=ref.attempt_id, name=name)
        asked = self._client.put(
            path,
            params=_query(part),
            content=data,
            headers=self._headers(),
            timeout=self._file_timeout,
        )
        return await _answered(asked, partial(decode_answer, ArtifactTaken))

    @property
    def _file_timeout(self) -> httpx.Timeout:
        """Of each piece; how long all of them take is nobody's business."""
        return httpx.Timeout(self.timeout_s, read=FILE_TIMEOUT_S, write=FILE_TIMEOUT_S)

    async def rings(self) -> AsyncIterator[bool]:
        """While the service keeps the bell: each line it writes, and whether that was a ring.

        A connection over which nothing comes is taken for dead, whatever the network believes.
        """
        lasting = httpx.Timeout(self.timeout_s, read=BELL_SILENCE_S)
        try:
            async with self._client.stream(
                "GET", BELL_PATH, headers=self._headers(), timeout=lasting
            ) as response:
                if not response.is_success:
                    raise trouble(response.status_code, await response.aread(), response.headers)
                async for lines in response.aiter_raw():
                    yield RING in lines
        except httpx.HTTPError as error:
            raise UnavailableError(f"{type(error).__name__}: {error}") from error

    async def close(self) -> None:
        await self._client.aclose()

    def _headers(self) -> dict[str, str]:
        return {} if self.token is None else {"Authorization": f"Bearer {self.token}"}

    async def _post(self, path: str, body: bytes, decode: Callable[[bytes], Answer]) -> Answer:
        headers = {"Content-Type": "application/json", **self._headers()}
        asked = self._client.post(path, content=body, headers=headers, timeout=self.timeout_s)
        return await _answered(asked, decode)


async def _answered(asked: Awaitable[httpx.Response], decode: Callable[[bytes], Answer]) -> Answer:
    try:
        response = await asked
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise UnavailableError(f"{type(error).__name__}: {error}") from error
    if not response.is_success:
        raise trouble(response.status_code, response.content, response.headers)
    try:
        return decode(response.content)
    except WireError as error:
        raise UnavailableError(f"an answer that cannot be read: {error}") from error


def _query(part: ArtifactPart) -> dict[str, str | int]:
    said = {name: value for name, value in to_builtins(part).items() if value not in (None, "")}
    return said | {"packed": "true" if part.packed else "false"}


def trouble(status: int, body: bytes, headers: Mapping[str, str]) -> Exception:
    try:
        problem = decode_answer(ReportedProblem, body)
    except WireError:
        problem = ReportedProblem()
    said = f"{status} {problem.code} {problem.detail or problem.title}".strip()
    if status == httpx.codes.CONFLICT and problem.code == Code.STALE_EPOCH:
        return FencedError(said)
    if status == httpx.codes.CONFLICT and problem.stale:
        return StaleAttemptsError(problem.stale)
    if status in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
        return NotAdmittedError(said)
    if status >= httpx.codes.INTERNAL_SERVER_ERROR or status in (
        httpx.codes.REQUEST_TIMEOUT,
        httpx.codes.CONFLICT,
        httpx.codes.TOO_EARLY,
        httpx.codes.TOO_MANY_REQUESTS,
    ):
        return UnavailableError(said, _retry_s(headers))
    return RefusedError(said)


def _retry_s(headers: Mapping[str, str]) -> float | None:
    try:
        return min(LONGEST_RETRY_S, max(0.0, float(headers.get("Retry-After", ""))))
    except ValueError:
        return None


@dataclass(slots=True)
class Backoff:
    """How long to wait before the next try: longer each time, and never all nodes at once."""

    first_s: float = 0.5
    longest_s: float = 15.0
    draw: random.Random = field(default_factory=random.Random)
    _failures: int = 0

    def next_s(self) -> float:
        bound_s = min(self.longest_s, self.first_s * 2 ** min(self._failures, 30))
        self._failures += 1
        return self.draw.uniform(bound_s / 2, bound_s)

    def reset(self) -> None:
        self._failures = 0


def around(interval_s: float) -> float:
    """So that nodes which began together, as after a restart of the service, do not stay so."""
    return interval_s * random.uniform(0.9, 1.1)  # noqa: S311 - no secret
