"""How long to wait before the next try: longer each time, and never all nodes at once."""

import random
from dataclasses import dataclass, field


@dataclass(slots=True)
class Backoff:
    first_s: float = 0.5
    longest_s: float = 15.0
    draw: random.Random = field(default_factory=random.Random)
    _failures: int = 0

    def next_s(self) -> float:
        bound_s = min(self.longest_s, self.first_s * 2 ** min(self._failures, 30))
        self._failures += 1
        return self.draw.uniform(bound_s / 2, bound_s)

    def reset(self) -> None:
        self._failures = 0


def around(interval_s: float) -> float:
    """So that nodes which began together, as after a restart of the service, do not stay so."""
    return interval_s * random.uniform(0.9, 1.1)  # noqa: S311 - no secret
