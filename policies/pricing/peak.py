"""What a demand charge meters: means of quarters of an hour, and the highest of a month so far.

Peaks are watts: that of the whole month, then one for every period of the tariff.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import TypeAlias
from zoneinfo import ZoneInfo

import numpy as np

from policies.pricing.curve import FloatArray, IntArray
from policies.pricing.periods import PricePeriod
from policies.pricing.tariff import FlatTariff, HourlyTariff, Tariff, TimeOfUseTariff
from policies.pricing.timezones import offset_spans

# Utilities meter demand as the mean of a quarter of an hour.
WINDOW_S = 900
W_PER_KW = 1000.0

Metered: TypeAlias = FlatTariff | TimeOfUseTariff


def metered(tariff: Tariff | None) -> Metered | None:
    """The tariff, if it charges anything for demand."""
    if tariff is None or isinstance(tariff, HourlyTariff):
        return None
    charges = [period.demand_charge_per_kw for period in periods_of(tariff)]
    return tariff if any((tariff.demand_charge_per_kw, *charges)) else None


def periods_of(tariff: Metered) -> tuple[PricePeriod, ...]:
    return tariff.periods if isinstance(tariff, TimeOfUseTariff) else ()


def months_of(tariff: Metered, at_s: FloatArray) -> IntArray:
    """The month that each of ascending times is in, where the tariff is at home, since 1970."""
    zone = _zone(tariff)
    months = np.zeros(len(at_s), np.int64)
    for start_s, end_s, offset_s in offset_spans(zone, int(at_s[0]), int(at_s[-1]) + 1):
        inside = (at_s >= start_s) & (at_s < end_s)
        local_s = (at_s[inside] + offset_s).astype("datetime64[s]")
        months[inside] = local_s.astype("datetime64[M]").astype(np.int64)
    return months


def month_begins_s(tariff: Metered, month: int) -> float:
    """When such a month of `months_of` begins."""
    return datetime(1970 + month // 12, month % 12 + 1, 1, tzinfo=_zone(tariff)).timestamp()


def _zone(tariff: Metered) -> ZoneInfo:
    return ZoneInfo(tariff.timezone if isinstance(tariff, TimeOfUseTariff) else "UTC")


def no_peaks_w(tariff: Metered) -> list[float]:
    return [0.0] * (1 + len(periods_of(tariff)))


def raised_w(
    tariff: Metered, peaks_w: Sequence[float], starts_s: FloatArray, mean_w: FloatArray
) -> list[float]:
    """The peaks with further windows of the same month in them."""
    raised = [max(peaks_w[0], float(mean_w.max(initial=0.0))), *peaks_w[1:]]
    if isinstance(tariff, TimeOfUseTariff) and len(starts_s):
        for period, watts in zip(tariff.period_at(starts_s).tolist(), mean_w, strict=True):
            raised[1 + period] = max(raised[1 + period], float(watts))
    return raised


def next_watt(tariff: Metered, peaks_w: Sequence[float], now_s: float) -> tuple[float, float]:
    """The peak that counts now, and what every watt above it costs.

    A tariff that charges for the month and for the period in force has two peaks; that of the month
    is taken for both, so what lies between them counts as free.
    """
    month = float(tariff.demand_charge_per_kw or 0) / W_PER_KW
    if not isinstance(tariff, TimeOfUseTariff):
        return peaks_w[0], month
    at = int(tariff.period_at(np.array([now_s]))[0])
    here = tariff.periods[at]
    price = month + float(here.demand_charge_per_kw or 0) / W_PER_KW
    if month:
        return peaks_w[0], price
    # Periods of one name share a peak.
    alike = (
        peak
        for i, (period, peak) in enumerate(zip(tariff.periods, peaks_w[1:], strict=True))
        if i == at or (here.name and period.name == here.name)
    )
    return max(alike), price
