"""Milliseconds per step of a round."""

from time import perf_counter


class Stopwatch:
    def __init__(self) -> None:
        self._since = perf_counter()

    def lap_ms(self) -> float:
        """Milliseconds since the last lap."""
        now = perf_counter()
        lap_ms, self._since = (now - self._since) * 1000, now
        return lap_ms
