"""A progress bar with simulated time, jobs done and time left; plain lines where it is no TTY."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from simulator.engine import Progress as OnProgress

LINE_EVERY_S = 10.0
DAY_S = 86_400


@contextmanager
def showing(title: str, jobs: int, origin_s: float) -> Iterator[OnProgress]:
    """Progress of one run, on standard error."""
    if not sys.stderr.isatty():
        yield _lines(title, jobs, origin_s)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f} jobs"),
        TextColumn("day {task.fields[day]:.1f}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=jobs, day=0.0)

        def show(now_s: float, finished: int) -> None:
            bar.update(task, completed=finished, day=(now_s - origin_s) / DAY_S)

        yield show
        bar.update(task, completed=jobs)


def _lines(title: str, jobs: int, origin_s: float) -> OnProgress:
    began = last = time.monotonic()

    def show(now_s: float, finished: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last < LINE_EVERY_S:
            return
        last = now
        left_s = (now - began) * (jobs - finished) / max(finished, 1)
        day = (now_s - origin_s) / DAY_S
        say(f"{title}: day {day:.1f}, {finished}/{jobs} jobs, about {left_s:.0f} s left")

    return show


@contextmanager
def counting(title: str, total: int) -> Iterator["ProgressCounter"]:
    """Progress of many runs."""
    if not sys.stderr.isatty():
        yield ProgressCounter(title, total)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f} runs"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total)
        yield ProgressCounter(title, total, lambda: bar.advance(task))


class ProgressCounter:
    def __init__(self, title: str, total: int, advance: "object | None" = None) -> None:
        self._title, self._total, self._advance = title, total, advance
        self._began = self._last = time.monotonic()
        self._done = 0

    def add(self, what: str) -> None:
        self._done += 1
        if callable(self._advance):
            self._advance()
            return
        now = time.monotonic()
        if now - self._last < LINE_EVERY_S and self._done < self._total:
            return
        self._last = now
        left_s = (now - self._began) / self._done * (self._total - self._done)
        say(f"{self._title}: {self._done}/{self._total} runs ({what}), about {left_s:.0f} s left")


def tell(text: str) -> None:
    """What was asked for, to standard output."""
    sys.stdout.write(text + "\n")


def say(line: str) -> None:
    """What happens meanwhile, to standard error."""
    sys.stderr.write(line + "\n")
