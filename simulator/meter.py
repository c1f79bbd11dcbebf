"""The utility's meter: means of quarters of an hour, and the highest of the running month."""

import numpy as np

from policies.contract.columns import F64
from policies.pricing.peak import WINDOW_S, Metered, months_of, next_watt, no_peaks_w, raised_w


class UtilityMeter:
    """Told of every change of the draw, PUE included; only windows that are over count.

    `peak_w` is what was metered before it began, in any period of that month.
    """

    def __init__(self, tariff: Metered, origin_s: float, peak_w: float = 0.0) -> None:
        self.peaks_w: list[float] = [peak_w for _ in no_peaks_w(tariff)]
        self._tariff = tariff
        self._watts = 0.0
        self._joules = 0.0
        self._since_s = origin_s
        self._opened_s = origin_s // WINDOW_S * WINDOW_S
        self._month = self._month_of(self._opened_s)

    def change(self, now_s: float, more_w: float) -> None:
        self._pass(now_s)
        self._watts += more_w

    def seen(self, now_s: float) -> tuple[float, float]:
        """The peak that counts now, and what every watt above it costs."""
        self._pass(now_s)
        return next_watt(self._tariff, self.peaks_w, now_s)

    def _pass(self, now_s: float) -> None:
        if now_s >= self._opened_s + WINDOW_S:
            self._close(now_s // WINDOW_S * WINDOW_S)
        self._joules += self._watts * (now_s - self._since_s)
        self._since_s = now_s

    def _close(self, until_s: float) -> None:
        """The open window and those after it, all through which the draw was the same."""
        starts_s = np.arange(self._opened_s, until_s, WINDOW_S)
        mean_w = np.full(len(starts_s), self._watts)
        self._joules += self._watts * (self._opened_s + WINDOW_S - self._since_s)
        mean_w[0] = self._joules / WINDOW_S
        self._count(starts_s, mean_w)
        self._opened_s = self._since_s = until_s
        self._joules = 0.0
        self._turn(self._month_of(until_s))

    def _count(self, starts_s: F64, mean_w: F64) -> None:
        months = months_of(self._tariff, starts_s)
        for month in np.unique(months).tolist():
            self._turn(month)
            here = months == month
            self.peaks_w = raised_w(self._tariff, self.peaks_w, starts_s[here], mean_w[here])

    def _turn(self, month: int) -> None:
        if month != self._month:
            self._month, self.peaks_w = month, no_peaks_w(self._tariff)

    def _month_of(self, at_s: float) -> int:
        return int(months_of(self._tariff, np.array([at_s]))[0])
