"""Expected outages in the log: a database or broker that is away is a line now and then.

A traceback says where we are wrong; that a server does not answer is nobody's mistake here, and a
thousand of them hide what is.
"""

import logging
import time
from collections.abc import Callable, Iterator

import django.db
import kombu.exceptions
import psycopg
import redis.exceptions

EVERY_S = 10.0
# Of what kind they are is said by their loggers: `extra={"outage": True}`, or the key in structlog.
MARK = "outage"
_AWAY = (
    django.db.OperationalError,
    django.db.InterfaceError,
    kombu.exceptions.OperationalError,
    redis.exceptions.ConnectionError,
    redis.exceptions.TimeoutError,
    ConnectionError,
)
# Connections that broke, and servers that shut down, start up or have no room; other states are
# about a statement, such as a deadlock.
_STATES = ("08", "57P", "53300")


class OutageFilter(logging.Filter):
    """One line per logger, kind and EVERY_S; the next one says how many were left out."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._said_s: dict[tuple[str, str], float] = {}
        self._left_out: dict[tuple[str, str], int] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        kind = _kind(record)
        if kind is None:
            return True
        key = record.name, kind
        now_s = self._clock()
        if now_s - self._said_s.get(key, float("-inf")) < EVERY_S:
            self._left_out[key] = self._left_out.get(key, 0) + 1
            return False
        self._said_s[key] = now_s
        _shorten(record, kind, self._left_out.pop(key, 0))
        return True


def _kind(record: logging.LogRecord) -> str | None:
    if isinstance(record.msg, dict):
        if record.msg.get(MARK):
            return str(record.msg.get("event"))
    elif getattr(record, MARK, False):
        return str(record.msg)
    error = record.exc_info[1] if record.exc_info else None
    if error is None or not is_outage(error):
        return None
    return f"{type(error).__module__}.{type(error).__name__}"


def is_outage(error: BaseException) -> bool:
    chain = list(_chain(error))
    states = [state for each in chain if (state := getattr(each, "sqlstate", None))]
    if states:
        return bool(states[0].startswith(_STATES))
    return any(isinstance(each, (*_AWAY, psycopg.OperationalError)) for each in chain)


def _chain(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    seen: set[int] = set()
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def _shorten(record: logging.LogRecord, kind: str, left_out: int) -> None:
    record.exc_info = record.exc_text = None
    if isinstance(record.msg, dict):
        record.msg = {key: value for key, value in record.msg.items() if key != MARK}
        record.msg |= {"left_out": left_out} if left_out else {}
        record.msg.pop("exc_info", None)
        return
    first, _, _ = record.getMessage().partition("\n")
    more = f"; {left_out} more were left out" if left_out else ""
    record.msg, record.args = f"{first}{more}", ()
    vars(record).pop(MARK, None)
