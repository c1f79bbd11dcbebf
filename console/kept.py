"""What all operators see alike is read once for all of them, and kept for seconds."""

from collections.abc import Callable
from functools import wraps
from threading import Lock
from time import monotonic
from typing import Any, ParamSpec, TypeVar

from django.db import connection

P = ParamSpec("P")
T = TypeVar("T")
MOST = 64
BEING_READ_S = 2.0
_all: list[dict[Any, Any]] = []


def forget() -> None:
    """Whoever has just changed something wants to see it; other processes show it in seconds."""
    for found in _all:
        found.clear()


def kept(seconds: float) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Of one process, by positional arguments alone: keywords are `now`, which changes always.

    Never for what depends on who asks.
    """

    def decorate(read: Callable[P, T]) -> Callable[P, T]:
        found: dict[tuple[Any, ...], tuple[float, T]] = {}
        lock = Lock()
        _all.append(found)

        @wraps(read)
        def reading(*args: P.args, **kwargs: P.kwargs) -> T:
            # Another database is another site: tests and trials have several.
            key = (connection.settings_dict["NAME"], connection.settings_dict["HOST"], *args)
            with lock:
                known, now_s = found.get(key), monotonic()
                if known is not None and known[0] > now_s:
                    return known[1]
                if known is not None and known[0] > now_s - BEING_READ_S:
                    # Others see this for as long as one reads, or many viewers would all read.
                    found[key] = (now_s + BEING_READ_S, known[1])
            value = read(*args, **kwargs)
            with lock:
                if len(found) >= MOST:
                    found.clear()
                found[key] = (monotonic() + seconds, value)
            return value

        return reading

    return decorate
