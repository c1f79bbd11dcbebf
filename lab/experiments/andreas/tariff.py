"""The tariffs of the ANDREAS experiment: its flat price, and a time of use with the same mean."""

from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np

from policies.pricing.curve import PriceCurve
from policies.pricing.periods import PRICE_PLACES, PricePeriod
from policies.pricing.tariff import DAY_S, TimeOfUseTariff
from simulator.scenario.files import data_directory
from simulator.traces.rows import csv_rows

TariffName = Literal["flat", "time-of-use"]
PRICE_PER_KWH = Decimal("0.17168313")
SUMMER = 7
MINUTES_PER_WEEK = 7 * 1440
# Nobody runs for a year.
LAST_S = 366 * DAY_S
# The first Monday of the epoch: time 0 of the experiment.
MONDAY_S = 4 * DAY_S
_COLUMNS = (
    "utility", "type", "month_start", "month_end", "hour_start", "hour_end",
    "weekday_start", "weekday_end", "charge",
)  # fmt: skip


@cache
def price_of(tariff: TariffName) -> PriceCurve:
    if tariff == "flat":
        return PriceCurve.piecewise(np.array([0, 10**9]), [PRICE_PER_KWH])
    periods = scaled(summer_periods(data_directory() / "tariffs" / "pge_industrial_tou.csv"))
    curve = TimeOfUseTariff(periods, "UTC").curve(MONDAY_S, MONDAY_S + LAST_S)
    return PriceCurve.piecewise(curve.edges_s - MONDAY_S, curve.exact_prices)


def summer_periods(path: Path) -> tuple[PricePeriod, ...]:
    """The energy charges of July, as if it were July all year."""
    return tuple(
        PricePeriod(
            months=frozenset(range(1, 13)),
            weekdays=frozenset(range(row.whole("weekday_start"), row.whole("weekday_end") + 1)),
            from_minute=round(60 * row.number("hour_start")),
            to_minute=round(60 * row.number("hour_end")),
            price_per_kwh=Decimal(row.text("charge")),
        )
        for row in csv_rows(path, _COLUMNS)
        if (row.text("utility"), row.text("type")) == ("electric", "energy")
        and row.whole("month_start") <= SUMMER <= row.whole("month_end")
    )


def scaled(periods: tuple[PricePeriod, ...]) -> tuple[PricePeriod, ...]:
    """The same periods, so that a week costs on the mean what the flat price does."""
    week = sum(
        period.price_per_kwh * len(period.weekdays) * (period.to_minute - period.from_minute)
        for period in periods
    )
    factor = PRICE_PER_KWH * MINUTES_PER_WEEK / week
    return tuple(
        PricePeriod(
            months=period.months,
            weekdays=period.weekdays,
            from_minute=period.from_minute,
            to_minute=period.to_minute,
            price_per_kwh=round(period.price_per_kwh * factor, PRICE_PLACES),
        )
        for period in periods
    )
