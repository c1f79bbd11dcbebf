"""Output: JSON for programs, aligned columns for people, both as soon as the first row is there."""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from typing import Annotated, Any, TypeVar

import typer

T = TypeVar("T")
Column = tuple[str, Callable[[T], object]]
Json = Annotated[bool, typer.Option("--json", help="JSON for programs, one object per line.")]

# Rows by which widths are chosen; later ones may stand out rather than be waited for.
SAMPLE = 25
COLOURS = {
    "running": "32",
    "succeeded": "32",
    "ready": "32",
    "failed": "31",
    "lost": "31",
    "quarantined": "31",
    "queued": "33",
    "preempting": "33",
    "draining": "33",
    "cancelled": "2",
    "drained": "2",
    "off": "2",
}


def coloured(stream: Any = None) -> bool:
    return (stream or sys.stdout).isatty() and "NO_COLOR" not in os.environ


def styled(text: str, code: str | None) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if code and coloured() else text


def bold(text: str) -> str:
    return styled(text, "1")


def put(text: str = "") -> None:
    sys.stdout.write(f"{text}\n")


def as_json(value: Any) -> None:
    import msgspec  # noqa: PLC0415 - help and completion do without

    sys.stdout.buffer.write(msgspec.json.encode(value) + b"\n")


def rows(
    items: Iterable[T], columns: Sequence[Column[T]], *, json: bool, heading: bool = True
) -> int:
    """Print item after item; how many there were."""
    count = 0
    if json:
        for count, item in enumerate(items, start=1):  # noqa: B007 - counted
            as_json(item)
        return count
    stream = iter(items)
    first = list(islice(stream, SAMPLE))
    if not first:
        return 0
    widths = _widths(first, columns)
    if heading:
        put(bold(_line([name for name, _ in columns], widths)))
    for count, item in enumerate(chain(first, stream), start=1):
        put(_line([_text(cell(item)) for _, cell in columns], widths))
        if count == len(first):
            sys.stdout.flush()
    return count


def _widths(items: Sequence[T], columns: Sequence[Column[T]]) -> list[int]:
    return [max(len(name), *(len(_text(cell(item))) for item in items)) for name, cell in columns]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = [
        styled(cell, COLOURS.get(cell)) + " " * (width - len(cell))
        for cell, width in zip(cells, widths, strict=True)
    ]
    return "  ".join(padded).rstrip()


def _text(value: object) -> str:
    return "" if value is None else str(value)


def facts(pairs: Iterable[tuple[str, object]]) -> None:
    """Names and values below each other; what is not known is left out."""
    known = [(name, _text(value)) for name, value in pairs if value not in (None, "")]
    width = max((len(name) for name, _ in known), default=0)
    for name, value in known:
        first, *more = value.splitlines()
        put(f"{bold(name.ljust(width))}  {styled(first, COLOURS.get(first))}")
        for line in more:
            put(f"{' ' * width}  {line}")
