"""Requests per minute and caller, from one budget that all processes share."""

import threading
import time
from functools import cache
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from rest.problems import Problem
from tenancy.callers import Caller
from tenancy.counters import Counter, counter_for

WINDOW_S = 60


class Budgets:
    """Fixed windows; a process reserves a thousandth of a budget per round trip.

    The sum over all processes never exceeds a budget, and a busy caller costs few round trips.
    """

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._window = -1
        self._reserved: dict[str, int] = {}
        self._lock = threading.Lock()

    def take(self, who: str, limit: int, now_s: float) -> bool:
        window = int(now_s // WINDOW_S)
        with self._lock:
            if window != self._window:
                self._window, self._reserved = window, {}
            left = self._reserved.get(who)
            if left:
                self._reserved[who] = left - 1
                return True
        return self._reserve(who, window, limit)

    def _reserve(self, who: str, window: int, limit: int) -> bool:
        share = max(1, limit // 1000)
        total = self._counter.add(f"throttle:{who}:{window}", share, ttl_s=2 * WINDOW_S)
        if total is None:
            return True
        granted = min(share, limit - (total - share))
        if granted <= 0:
            return False
        with self._lock:
            if window == self._window:
                self._reserved[who] = self._reserved.get(who, 0) + granted - 1
        return True


class WrongSecrets:
    """Counts guesses of a secret, by whoever makes them: after `most` in a minute none is heard."""

    def __init__(self, counter: Counter, kind: str, most: int) -> None:
        self._counter, self._kind, self.most = counter, kind, most

    def refuse_if_many(self, who: str, now_s: float) -> None:
        if (self._add(who, 0, now_s) or 0) >= self.most:
            raise too_many(self.most, WINDOW_S - int(now_s) % WINDOW_S)

    def note(self, who: str, now_s: float) -> None:
        self._add(who, 1, now_s)

    def _add(self, who: str, amount: int, now_s: float) -> int | None:
        key = f"wrong:{self._kind}:{who}:{int(now_s // WINDOW_S)}"
        return self._counter.add(key, amount, ttl_s=2 * WINDOW_S)


@cache
def wrong_secrets(url: str, kind: str, most: int) -> WrongSecrets:
    return WrongSecrets(counter_for(url), kind, most)


@cache
def budgets(url: str) -> Budgets:
    return Budgets(counter_for(url))


class CallerThrottle(BaseThrottle):
    def allow_request(self, request: Request, view: Any) -> bool:
        caller = request.auth
        if isinstance(caller, Caller):
            who, limit = f"token:{caller.token_id}", settings.THROTTLE_PER_MINUTE
        else:
            who, limit = f"address:{address(request)}", settings.THROTTLE_ANONYMOUS_PER_MINUTE
        now_s = time.time()
        if budgets(settings.CACHE_URL).take(who, limit, now_s):
            return True
        raise too_many(limit, WINDOW_S - int(now_s) % WINDOW_S)


def address(request: Request | HttpRequest) -> str:
    """The peer; in production that is the proxy, which appends whom it heard from."""
    if settings.PRODUCTION and "HTTP_X_FORWARDED_FOR" in request.META:
        return str(request.META["HTTP_X_FORWARDED_FOR"]).rsplit(",", 1)[-1].strip()
    return str(request.META.get("REMOTE_ADDR", ""))


def too_many(limit: int, reset_s: int) -> Problem:
    return Problem(
        f"More than {limit} requests in a minute; wait {reset_s} s.",
        code="too_many_requests",
        status=429,
        headers={
            "Retry-After": str(reset_s),
            "RateLimit-Limit": str(limit),
            "RateLimit-Remaining": "0",
            "RateLimit-Reset": str(reset_s),
        },
    )
