"""What a profile says of one configuration, how sure it is, and where it got that from."""

import math
from dataclasses import dataclass
from typing import Literal

Source = Literal["measured", "fitted", "neutral"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """`leaves` names the axes on which the configuration lies outside what was measured.

    nan is not known. `low` and `high` bound steps per second, `low_w` and `high_w` the watts.
    """

    steps_per_s: float
    low: float
    high: float
    watts_per_gpu: float = math.nan
    low_w: float = math.nan
    high_w: float = math.nan
    source: Source
    leaves: tuple[str, ...] = ()

    @property
    def extrapolated(self) -> bool:
        return bool(self.leaves)
