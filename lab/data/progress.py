"""A bar per file that is fetched, on standard error; a line where it is no terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from lab.data.download import OnBytes
from lab.data.manifest import DataFile
from simulator.progress import say


@contextmanager
def showing(file: DataFile, place: str) -> Iterator[OnBytes]:
    """`place` is which of how many."""
    if not sys.stderr.isatty():
        say(f"{place} {file.path}")
        yield lambda _: None
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(f"{place} {file.path}", total=file.size_bytes)
        yield lambda have: bar.update(task, completed=have)
        # From a mirror a packed file is smaller than its content.
        bar.update(task, completed=file.size_bytes)
