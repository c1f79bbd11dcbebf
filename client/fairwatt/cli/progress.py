"""Bars on the terminal for what takes longer than a second; nothing where nobody looks."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def working(what: str) -> Iterator[None]:
    """A bar without a measure."""
    with measured(what) as advance:
        advance(0, None)
        yield


@contextmanager
def measured(what: str) -> Iterator[Callable[[float, float | None], None]]:
    """A bar; call what it gives with how much is done, of how much."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console  # noqa: PLC0415 - only where there is a terminal
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
