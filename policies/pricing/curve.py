"""A price per kWh (or grams of CO2 per kWh) that is constant between edges, and questions to it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

J_PER_KWH = 3_600_000


class PriceWindow(NamedTuple):
    start_s: float
    end_s: float
    price: Decimal | None


@dataclass(frozen=True, eq=False)
class PriceCurve:
    """Prices over [edges_s[0], edges_s[-1]); an unknown price is None, and NaN in `prices`.

    Times are UTC epoch seconds. Outside its range a curve knows no price.
    """

    edges_s: IntArray
    prices: FloatArray
    exact_prices: tuple[Decimal | None, ...]

    @classmethod
    def piecewise(cls, edges_s: IntArray, exact_prices: Sequence[Decimal | None]) -> Self:
        """Equal neighbours are merged, so that every inner edge is a change of price."""
        fitting = 0 < len(exact_prices) == len(edges_s) - 1
        if not fitting or np.any(np.diff(edges_s) <= 0):
            raise ValueError("a curve needs ascending edges around each of its prices")
        kept = [i for i, price in enumerate(exact_prices) if i == 0 or price != exact_prices[i - 1]]
        merged = tuple(exact_prices[i] for i in kept)
        floats = np.array([np.nan if price is None else float(price) for price in merged])
        edges = np.append(edges_s[kept], edges_s[-1]).astype(np.int64)
        edges.setflags(write=False)
        floats.setflags(write=False)
        return cls(edges, floats, merged)

    @property
    def start_s(self) -> int:
        return int(self.edges_s[0])

    @property
    def end_s(self) -> int:
        return int(self.edges_s[-1])

    def price_at(self, t_s: ArrayLike) -> FloatArray:
        """NaN where no price is known."""
        t = np.asarray(t_s, dtype=np.float64)
        inside = (t >= self.start_s) & (t < self.end_s)
        return np.where(inside, self.prices[self._segment(t)], np.nan)

    def integral(self, t0_s: ArrayLike, t1_s: ArrayLike) -> FloatArray:
        """Price x seconds over [t0_s, t1_s); NaN where any part of it has no known price."""
        t0 = np.asarray(t0_s, dtype=np.float64)
        t1 = np.asarray(t1_s, dtype=np.float64)
        if np.any(t1 < t0):
            raise ValueError("an interval ends before it starts")
        known = (t0 >= self.start_s) & (t1 <= self.end_s)
        known &= self._unknown_s_until(t1) == self._unknown_s_until(t0)
        area = self._area_until(t1) - self._area_until(t0)
        return np.where(known | (t0 == t1), area, np.nan)

    def cost(self, watts: ArrayLike, t0_s: ArrayLike, t1_s: ArrayLike) -> FloatArray:
        """Money (or grams) for constant watts over [t0_s, t1_s)."""
        return np.asarray(watts, dtype=np.float64) * self.integral(t0_s, t1_s) / J_PER_KWH

    def next_change(self, t_s: ArrayLike) -> FloatArray:
        """The first later moment with another price; infinity when none is known."""
        t = np.asarray(t_s, dtype=np.float64)
        changes = np.append(self.edges_s[:-1].astype(np.float64), np.inf)
        return np.asarray(changes[np.searchsorted(self.edges_s[:-1], t, side="right")])

    def windows(self, t0_s: float, t1_s: float) -> Iterator[PriceWindow]:
        """[t0_s, t1_s) cut at every change of price, without rounding; parts unknown are None."""
        if t0_s < min(t1_s, self.start_s):
            yield PriceWindow(t0_s, min(t1_s, self.start_s), None)
        first = int(np.searchsorted(self.edges_s, t0_s, side="right")) - 1
        for i in range(max(first, 0), len(self.exact_prices)):
            low, high = max(t0_s, int(self.edges_s[i])), min(t1_s, int(self.edges_s[i + 1]))
            if low >= high:
                break
            yield PriceWindow(low, high, self.exact_prices[i])
        if max(t0_s, self.end_s) < t1_s:
            yield PriceWindow(max(t0_s, self.end_s), t1_s, None)

    def _segment(self, t: FloatArray) -> IntArray:
        found = np.searchsorted(self.edges_s, t, side="right") - 1
        return np.clip(found, 0, len(self.prices) - 1).astype(np.int64)

    def _area_until(self, t: FloatArray) -> FloatArray:
        segment, inside = self._segment(t), np.clip(t, self.start_s, self.end_s)
        rest = self._known_prices[segment] * (inside - self.edges_s[segment])
        return np.asarray(self._areas[segment] + rest)

    def _unknown_s_until(self, t: FloatArray) -> FloatArray:
        segment, inside = self._segment(t), np.clip(t, self.start_s, self.end_s)
        rest = np.isnan(self.prices)[segment] * (inside - self.edges_s[segment])
        return np.asarray(self._unknowns_s[segment] + rest)

    @cached_property
    def _known_prices(self) -> FloatArray:
        return np.nan_to_num(self.prices, nan=0.0)

    @cached_property
    def _areas(self) -> FloatArray:
        return np.concatenate([[0.0], np.cumsum(self._known_prices * np.diff(self.edges_s))])

    @cached_property
    def _unknowns_s(self) -> FloatArray:
        return np.concatenate([[0.0], np.cumsum(np.isnan(self.prices) * np.diff(self.edges_s))])
