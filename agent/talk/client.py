"""The client of the service: one request in, one typed answer or one of four troubles out."""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import httpx

from agent.wire import (
    LOGS_PATH,
    REGISTER_PATH,
    SYNC_PATH,
    TELEMETRY_PATH,
    AttemptRef,
    Code,
    Desired,
    Logs,
    LogsTaken,
    Problem,
    Register,
    Registered,
    ServiceMessage,
    Sync,
    Telemetry,
    TelemetryTaken,
    WireError,
    decode_answer,
    encode,
)

Answer = TypeVar("Answer", bound=ServiceMessage)
TIMEOUT_S = 10.0
LONGEST_RETRY_S = 60.0


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
        return await self._post(REGISTER_PATH, encode(message), Registered)

    async def sync(self, message: Sync) -> Desired:
        return await self._post(SYNC_PATH, encode(message), Desired)

    async def telemetry(self, message: Telemetry) -> TelemetryTaken:
        return await self._post(TELEMETRY_PATH, encode(message), TelemetryTaken)

    async def logs(self, message: Logs) -> LogsTaken:
        return await self._post(LOGS_PATH, encode(message), LogsTaken)

    async def close(self) -> None:
        await self._client.aclose()

    async def _post(self, path: str, body: bytes, kind: type[Answer]) -> Answer:
        headers = {"Content-Type": "application/json"}
        if self.token is not None:
            headers["Authorization"] = f"Bearer {self.token}"
        try:
            response = await self._client.post(
                path, content=body, headers=headers, timeout=self.timeout_s
            )
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise UnavailableError(f"{type(error).__name__}: {error}") from error
        if not response.is_success:
            raise trouble(response.status_code, response.content, response.headers)
        try:
            return decode_answer(kind, response.content)
        except WireError as error:
            raise UnavailableError(f"an answer that cannot be read: {error}") from error


def trouble(status: int, body: bytes, headers: Mapping[str, str]) -> Exception:
    try:
        problem = decode_answer(Problem, body)
    except WireError:
        problem = Problem()
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
