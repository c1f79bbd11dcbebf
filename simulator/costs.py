"""What stopping, moving and spreading work costs in a world."""

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """Seconds during which a job holds its GPUs without progress, and how much slower it runs.

    With `saves_on_stop` a preempted or moved job spends `checkpoint_s` and keeps all its work;
    without it falls back to its last checkpoint, taken every `checkpoint_every_s` of progress at no
    cost. A failing node always sends its jobs back there. A job's end is known, and its GPUs are
    free, `end_s` after its work is done.
    """

    start_s: float = 0.0
    end_s: float = 0.0
    restart_s: float = 0.0
    checkpoint_s: float = 0.0
    saves_on_stop: bool = True
    checkpoint_every_s: float = math.inf
    boot_s: float = 0.0
    slowdown_in_rack: float = 0.0
    slowdown_in_switch: float = 0.0
    slowdown_across: float = 0.0
    hands_over: bool = False
    """Whether what a plan takes from a job may go to another in the same plan."""

    def __post_init__(self) -> None:
        if self.hands_over and (self.checkpoint_s or not self.saves_on_stop):
            raise ValueError("GPUs can change hands at once only where stopping takes no time")

    def slowdown(self, racks: set[int], switches: set[int]) -> float:
        """Of a gang on several nodes, by the narrowest part of the topology that holds it."""
        if len(racks) == 1 and -1 not in racks:
            return self.slowdown_in_rack
        if len(switches) == 1 and -1 not in switches:
            return self.slowdown_in_switch
        return self.slowdown_across
