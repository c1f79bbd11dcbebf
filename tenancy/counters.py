"""Counters that several processes add to: in Valkey, or in this process where there is none."""

import threading
import time
from typing import Protocol

import redis
import structlog

log = structlog.get_logger(__name__)
LOG_EVERY_S = 60.0
# While Valkey is away, ask again only this often: a refused connection is cheap, a lost one is not.
RETRY_AFTER_S = 1.0


class Counter(Protocol):
    def add(self, key: str, amount: int, *, ttl_s: int) -> int | None:
        """The new total, or None when nobody can know it."""


class ValkeyCounter:
    """One atomic INCRBY, with its expiry in the same round trip."""

    def __init__(self, url: str) -> None:
        self._client = redis.Redis.from_url(
            url, socket_timeout=0.25, socket_connect_timeout=0.25, protocol=2
        )
        self._retry_at_s = 0.0
        self._log_at_s = 0.0

    def add(self, key: str, amount: int, *, ttl_s: int) -> int | None:
        if time.monotonic() < self._retry_at_s:
            return None
        try:
            pipeline = self._client.pipeline(transaction=False)
            pipeline.incrby(key, amount)
            pipeline.expire(key, ttl_s)
            return int(pipeline.execute()[0])
        except redis.RedisError as error:
            self._note(error)
            return None

    def _note(self, error: redis.RedisError) -> None:
        now_s = time.monotonic()
        self._retry_at_s = now_s + RETRY_AFTER_S
        if now_s >= self._log_at_s:
            self._log_at_s = now_s + LOG_EVERY_S
            log.warning("throttle_counter_unreachable", error=type(error).__name__)


class LocalCounter:
    """Counts this process only: with n processes a caller gets up to n budgets."""

    def __init__(self) -> None:
        self._totals: dict[str, int] = {}
        self._lock = threading.Lock()

    def add(self, key: str, amount: int, *, ttl_s: int) -> int:
        with self._lock:
            if len(self._totals) > 100_000:
                self._totals.clear()
            self._totals[key] = self._totals.get(key, 0) + amount
            return self._totals[key]


def counter_for(url: str) -> Counter:
    if url.startswith(("redis://", "rediss://", "unix://")):
        return ValkeyCounter(url)
    return LocalCounter()
