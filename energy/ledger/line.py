"""One GPU's counter over time, between two readings of it: exact integers, whatever comes between.

What lies between two readings is spread evenly over the time between them. The energy between any
two moments is a difference of two whole numbers, so that parts add up to the whole.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]

# Readings further apart than this leave the time between them uncovered.
GAP_US = 60 * 1_000_000


@dataclass(frozen=True, eq=False)
class Line:
    """Times and counter, both rising."""

    at_us: IntArray
    mj: IntArray

    @classmethod
    def between(
        cls, start: tuple[int, int], end: tuple[int, int], readings: Iterable[tuple[int, int]]
    ) -> Self:
        """(microseconds, mJ) at both ends, which rule, and readings in the order of their number.

        A reading's time may be off by how long its message was under way; it cannot lie outside.
        """
        points = np.array([start, *readings, end], np.int64).reshape(-1, 2)
        low, high = np.array(start, np.int64), np.array(end, np.int64)
        rising = np.maximum.accumulate(points.clip(low, high), axis=0)
        return cls(rising[:, 0], rising[:, 1])

    def mj_at(self, at_us: int) -> int:
        # At the first moment, too, where readings may have been bent back to.
        if at_us <= self.at_us[0]:
            return int(self.mj[0])
        after = int(np.searchsorted(self.at_us, at_us, side="right"))
        if after == len(self.at_us):
            return int(self.mj[-1])
        t0, t1 = int(self.at_us[after - 1]), int(self.at_us[after])
        e0, e1 = int(self.mj[after - 1]), int(self.mj[after])
        return e0 + (e1 - e0) * (at_us - t0) // (t1 - t0)

    def coverage(self, from_us: int, until_us: int) -> float:
        """The share of the line's own time in the window in which readings lie close together."""
        low, high = max(from_us, int(self.at_us[0])), min(until_us, int(self.at_us[-1]))
        if low >= high:
            return 1.0
        edges = self.at_us.clip(low, high)
        close = np.diff(self.at_us) <= GAP_US
        return float(np.diff(edges)[close].sum() / (high - low))
