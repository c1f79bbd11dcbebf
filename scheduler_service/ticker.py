"""The ticker: does in time what no worker did, because broker, beat or workers are away.

It asks Postgres alone. Two tickers are as good as one: whoever claims a duty's row does it, and all
that is done is done under the same locks as a worker's.
"""

import os
import signal
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from threading import Event
from time import monotonic
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, close_old_connections
from django.utils import timezone

from scheduler_service import duties
from scheduling.round import run_round

log = structlog.get_logger(__name__)

LOOK_S = 0.5
THREADS = 3
LOOKED = settings.VAR_DIR / "ticker-looked"
# Longer than any round may take: whoever starts us again frees what hangs.
STUCK_S = 150.0
STUCK_CODE = 70


class Ticker:
    def __init__(
        self,
        *,
        clock: Callable[[], float] = monotonic,
        pool: ThreadPoolExecutor | None = None,
    ) -> None:
        self._clock = clock
        self._pool = pool or ThreadPoolExecutor(THREADS, "ticker")
        self._begun_s: dict[str, float] = {}
        self._took_over = False

    def run(self, stop: Event) -> None:
        while not stop.wait(LOOK_S):
            self.look()
            # For whoever wants to know from outside whether it still looks.
            with suppress(OSError):
                LOOKED.touch()
            if self.stuck():
                log.error("ticker_stuck", duties=sorted(self._begun_s))
                os._exit(STUCK_CODE)
        self._pool.shutdown()

    def look(self) -> None:
        """Begin whatever is overdue and not under way here."""
        try:
            taken = [name for name in duties.overdue(now=timezone.now()) if self._take(name)]
        except DatabaseError as error:
            # One that is away is noticed by all; the next look will tell.
            log.warning("ticker_without_database", error=type(error).__name__, outage=True)
            close_old_connections()
            return
        if taken and not self._took_over:
            log.warning("ticker_takes_over", duties=taken)
        self._took_over = bool(taken) or (self._took_over and bool(self._begun_s))

    def stuck(self) -> bool:
        return any(self._clock() - begun_s > STUCK_S for begun_s in self._begun_s.values())

    def _take(self, name: str) -> bool:
        now = timezone.now()
        if name in self._begun_s or not duties.claim(name, now=now):
            return False
        if name == duties.TICK:
            for cluster_id in duties.rounds_take(now=now):
                self._begin(f"round {cluster_id}", partial(_round, cluster_id))
        else:
            self._begin(name, duties.DUTIES[name])
        return True

    def _begin(self, name: str, act: Callable[[], Any]) -> None:
        if name in self._begun_s:
            return
        self._begun_s[name] = self._clock()
        self._pool.submit(_act, name, act).add_done_callback(partial(self._done, name))

    def _done(self, name: str, _: Future[None]) -> None:
        self._begun_s.pop(name, None)


def _round(cluster_id: int) -> None:
    run_round(cluster_id, now=timezone.now())


def _act(name: str, act: Callable[[], Any]) -> None:
    close_old_connections()
    try:
        act()
    except DatabaseError as error:
        kind = type(error).__name__
        log.warning("duty_without_database", duty=name, error=kind, outage=True)
    except Exception:
        log.exception("duty_failed", duty=name)
    finally:
        close_old_connections()


def main() -> None:
    """Until SIGTERM or SIGINT; what is under way is done first."""
    stop = Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    Ticker().run(stop)
