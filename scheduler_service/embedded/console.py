"""Many programs' lines on one terminal, each behind its program's name."""

import os
import zlib
from typing import TextIO

COLOURS = (36, 33, 32, 35, 34, 96, 93, 92, 95, 94)  # ANSI foregrounds that read on dark and light
LINE_MAX_BYTES = 64 * 1024


class Console:
    def __init__(self, stream: TextIO) -> None:
        self._stream: TextIO | None = stream
        self._coloured = stream.isatty() and "NO_COLOR" not in os.environ
        self._width = 8

    def line(self, name: str, text: str) -> None:
        self._width = max(self._width, len(name))
        label = f"{name:<{self._width}} |"
        if self._coloured:
            colour = COLOURS[zlib.crc32(name.encode()) % len(COLOURS)]
            label = f"\x1b[{colour}m{label}\x1b[0m"
        self._write(f"{label} {text}\n")

    def say(self, text: str) -> None:
        self._write(f"{text}\n")

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            # The terminal or the reading end of a pipe is gone; the servers go on without it.
            self._stream = None


class Lines:
    """Whole lines out of chunks; a line without an end is cut at LINE_MAX_BYTES."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[str]:
        *whole, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > LINE_MAX_BYTES:
            whole.append(self._rest)
            self._rest = b""
        return [_text(line) for line in whole]

    def close(self) -> list[str]:
        rest, self._rest = self._rest, b""
        return [_text(rest)] if rest else []


def _text(line: bytes) -> str:
    return line.decode(errors="replace").rstrip("\r")
