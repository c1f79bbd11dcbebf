"""Tariffs: flat, time-of-use and hourly series, each evaluated to a curve of prices over UTC."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import TypeAlias
from zoneinfo import ZoneInfo

import numpy as np

from policies.pricing.curve import FloatArray, IntArray, PriceCurve
from policies.pricing.periods import (
    PRICE_LIMIT,
    Owners,
    PricePeriod,
    demand_charge_problems,
    owners,
    price_problems,
    validate_periods,
)
from policies.pricing.timezones import offset_spans, validate_timezone
from policies.value_fault import ValueFault

DAY_S = 86_400
HOUR_S = 3_600
# 1970-01-01 was a Thursday, weekday 3.
EPOCH_WEEKDAY = 3


@dataclass(frozen=True)
class FlatTariff:
    price_per_kwh: Decimal
    demand_charge_per_kw: Decimal | None = None

    def __post_init__(self) -> None:
        _refuse(validate_flat(self.price_per_kwh, self.demand_charge_per_kw))

    def curve(self, start_s: int, end_s: int) -> PriceCurve:
        return PriceCurve.piecewise(np.array([start_s, end_s]), [self.price_per_kwh])


@dataclass(frozen=True)
class TimeOfUseTariff:
    periods: tuple[PricePeriod, ...]
    timezone: str
    demand_charge_per_kw: Decimal | None = None

    def __post_init__(self) -> None:
        _refuse(validate_time_of_use(self.periods, self.timezone, self.demand_charge_per_kw))

    def curve(self, start_s: int, end_s: int) -> PriceCurve:
        edges_s, indices = self._periods_between(start_s, end_s)
        return PriceCurve.piecewise(edges_s, [self.periods[i].price_per_kwh for i in indices])

    def period_at(self, t_s: FloatArray | IntArray) -> IntArray:
        """Index of the period in force at each time: whose peak a demand counts towards."""
        start_s, end_s = int(np.floor(t_s.min())), int(np.floor(t_s.max())) + 1
        edges_s, indices = self._periods_between(start_s, end_s)
        return indices[np.searchsorted(edges_s, t_s, side="right") - 1]

    def _periods_between(self, start_s: int, end_s: int) -> tuple[IntArray, IntArray]:
        """UTC edges wherever a period may begin, and the period of each part between them."""
        if end_s <= start_s:
            raise ValueError("a curve ends after it starts")
        starts, locals_ = [], []
        for span_start_s, span_end_s, offset_s in offset_spans(self._zone, start_s, end_s):
            local_s = self._local_starts(span_start_s + offset_s, span_end_s + offset_s)
            starts.append(local_s - offset_s)
            locals_.append(local_s)
        local_s = np.concatenate(locals_)
        months = local_s.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64) % 12
        weekdays = (local_s // DAY_S + EPOCH_WEEKDAY) % 7
        indices = self._owners[months, weekdays, local_s % DAY_S // 60]
        return np.append(np.concatenate(starts), end_s), indices.astype(np.int64)

    def _local_starts(self, local_start_s: int, local_end_s: int) -> IntArray:
        """Seconds of the wall clock, within a span of one UTC offset."""
        days = np.arange(local_start_s // DAY_S, local_end_s // DAY_S + 1)
        minutes = np.array(sorted({0} | {period.from_minute for period in self.periods}))
        local_s = (days[:, None] * DAY_S + minutes * 60).ravel()
        inside = local_s[(local_s > local_start_s) & (local_s < local_end_s)]
        return np.concatenate([[local_start_s], inside]).astype(np.int64)

    @cached_property
    def _zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)

    @cached_property
    def _owners(self) -> Owners:
        return owners(self.periods)


@dataclass(frozen=True, eq=False)
class HourlyTariff:
    """Prices of whole hours; hours that are absent have no known price."""

    starts_s: IntArray
    prices: tuple[Decimal, ...]

    def curve(self, start_s: int, end_s: int) -> PriceCurve:
        return hourly_curve(self.starts_s, self.prices, start_s, end_s)


@dataclass(frozen=True, eq=False)
class CarbonIntensity:
    """Grams of CO2 equivalent per kWh, of whole hours."""

    starts_s: IntArray
    g_per_kwh: tuple[Decimal, ...]

    def curve(self, start_s: int, end_s: int) -> PriceCurve:
        return hourly_curve(self.starts_s, self.g_per_kwh, start_s, end_s)


Tariff: TypeAlias = FlatTariff | TimeOfUseTariff | HourlyTariff


def hourly_curve(
    starts_s: IntArray, values: Sequence[Decimal], start_s: int, end_s: int
) -> PriceCurve:
    if len(starts_s) != len(values) or np.any(np.diff(starts_s) < HOUR_S):
        raise ValueError("an hourly series has one value per hour, in ascending order")
    first = np.searchsorted(starts_s, start_s - HOUR_S, side="right")
    last = np.searchsorted(starts_s, end_s, side="left")
    hours_s = starts_s[first:last]
    cuts_s = np.concatenate([[start_s, end_s], hours_s, hours_s + HOUR_S])
    edges_s = np.unique(np.clip(cuts_s, start_s, end_s)).astype(np.int64)
    latest = np.searchsorted(starts_s, edges_s[:-1], side="right") - 1
    prices = [
        values[i] if i >= 0 and edge_s < starts_s[i] + HOUR_S else None
        for i, edge_s in zip(latest, edges_s[:-1], strict=True)
    ]
    return PriceCurve.piecewise(edges_s, prices)


def validate_flat(price_per_kwh: Decimal, demand_charge_per_kw: Decimal | None) -> list[ValueFault]:
    return [
        *price_problems(price_per_kwh, PRICE_LIMIT, "/price_per_kwh"),
        *demand_charge_problems(demand_charge_per_kw, "/demand_charge_per_kw"),
    ]


def validate_time_of_use(
    periods: Sequence[PricePeriod], timezone: str, demand_charge_per_kw: Decimal | None
) -> list[ValueFault]:
    return [
        *validate_timezone(timezone),
        *demand_charge_problems(demand_charge_per_kw, "/demand_charge_per_kw"),
        *validate_periods(periods),
    ]


def demand_charge(
    peak_kw: Decimal,
    charge_per_kw: Decimal | None,
    periods: Sequence[PricePeriod] = (),
    period_peaks_kw: Sequence[Decimal] = (),
) -> Decimal:
    """One month's demand: its peak, and the peak within each period (or name) with a charge."""
    total = peak_kw * (charge_per_kw or 0)
    demands: dict[str | int, tuple[Decimal, Decimal]] = {}
    for i, (period, peak) in enumerate(zip(periods, period_peaks_kw, strict=True)):
        charge = period.demand_charge_per_kw or Decimal(0)
        _, highest = demands.get(period.name or i, (charge, peak))
        demands[period.name or i] = (charge, max(highest, peak))
    return total + sum((charge * peak for charge, peak in demands.values()), Decimal(0))


def _refuse(problems: Sequence[ValueFault]) -> None:
    if problems:
        raise ValueError("; ".join(f"{p.pointer}: {p.message}" for p in problems))
