"""Whether an attempt's speed may be believed, and whether the program has changed since."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

# A speed off by more than this factor from what is known is more likely a bad attempt than news:
# a neighbour on the same disk, a data set that was not cached.
FAR = 1.5
# ... unless as many attempts in a row say the same.
IN_A_ROW = 3
# Attempts in a row that are off by this much on the same side mean that the program has changed.
DRIFTED = 0.15


@dataclass(frozen=True, slots=True)
class SpeedVerdict:
    """`drift` is how much faster (1.2) or slower (0.8) than known the newest attempts were."""

    accepted: bool
    drift: float | None = None


def judged(ratio: float, earlier: Sequence[float]) -> SpeedVerdict:
    """`ratio` is measured over known; `earlier` those of the attempts before, the newest first."""
    recent = [ratio, *earlier[: IN_A_ROW - 1]]
    drift = _drift(recent)
    far = abs(math.log(ratio)) > math.log(FAR)
    return SpeedVerdict(accepted=not far or drift is not None, drift=drift)


def _drift(recent: Sequence[float]) -> float | None:
    if len(recent) < IN_A_ROW:
        return None
    off = [math.log(ratio) for ratio in recent]
    same_side = all(one > 0 for one in off) or all(one < 0 for one in off)
    if not same_side or min(abs(one) for one in off) < math.log1p(DRIFTED):
        return None
    return math.exp(sum(off) / len(off))


def drift_text(drift: float) -> str:
    how = "faster" if drift > 1 else "slower"
    off = abs(drift - 1)
    return f"The last {IN_A_ROW} attempts were {off:.0%} {how} than what was known."
