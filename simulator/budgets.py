"""What a cluster may use beside its constant power budget: watts by the hour, joules by period."""

import math
from dataclasses import dataclass

HOUR_S = 3600.0
HOURS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """`by_hour_w` are 24 budgets from midnight UTC on; `period_j` renews itself, PUE included.

    Of a period that runs already when the world begins, `first_j` are left until `first_until_s`.
    """

    by_hour_w: tuple[float, ...] = ()
    period_j: float = math.inf
    period_s: float = math.inf
    first_j: float = math.inf
    first_until_s: float = -math.inf

    def __post_init__(self) -> None:
        if len(self.by_hour_w) not in (0, HOURS):
            raise ValueError(f"a day has {HOURS} hours, not {len(self.by_hour_w)}")
        if math.isfinite(self.period_j) and not 0 < self.period_s < math.inf:
            raise ValueError("joules need a period to be spent in")

    def watts_at(self, now_s: float) -> float:
        return self.by_hour_w[int(now_s // HOUR_S) % HOURS] if self.by_hour_w else math.inf


class Purse:
    """The joules of the running period; what was used before its first round is not counted."""

    def __init__(self, allowance: Allowance, origin_s: float) -> None:
        self._allowance = allowance
        self._period_j = allowance.first_j
        self._until_s = max(allowance.first_until_s, origin_s)
        self._used_before_j = 0.0

    def left(self, now_s: float, used_j: float) -> tuple[float, float]:
        """Joules left, and until when; `used_j` are all since the world began."""
        if now_s >= self._until_s:
            self._begin(now_s, used_j)
        return self._period_j - (used_j - self._used_before_j), self._until_s

    def _begin(self, now_s: float, used_j: float) -> None:
        begun = (now_s - self._until_s) // self._allowance.period_s + 1
        self._until_s += begun * self._allowance.period_s
        self._period_j = self._allowance.period_j
        self._used_before_j = used_j
