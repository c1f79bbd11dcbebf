"""How fast an attempt goes and what it draws, at the clock and CPUs it has just now."""

from collections.abc import Mapping
from dataclasses import dataclass

from agent.wire import Speed

# What comes right after a change of clock or CPUs is neither the old speed nor the new one.
SETTLE_S = 2.0
# So long it waits for counters read since: one that is lost shall not hold up the speed.
PATIENCE_S = 10.0
# A measurement looks back at most twice this far, so that a long attempt's is not of yesterday.
LOOK_BACK_S = 300.0


@dataclass(frozen=True, slots=True)
class SpeedMark:
    """Where the attempt was: its step and when it was reached, each GPU's counter and when read."""

    step: int
    step_s: float
    energy: Mapping[str, tuple[int, float]]


class Speedometer:
    """Begins anew whenever clock or CPUs change, or the attempt goes back to an earlier step."""

    def __init__(self) -> None:
        self._set: tuple[int | None, int] | None = None
        self._settled_s = 0.0
        self._start: SpeedMark | None = None
        self._middle: SpeedMark | None = None
        self._last: SpeedMark | None = None

    def set(self, clock_mhz: int | None, cpus: int, now_s: float) -> None:
        if self._set == (clock_mhz, cpus):
            return
        self._set = (clock_mhz, cpus)
        self._settled_s = now_s + SETTLE_S
        self._start = self._middle = self._last = None

    def advance(
        self, step: int | None, step_s: float, energy: Mapping[str, tuple[int, float]]
    ) -> None:
        """`energy` has each GPU's millijoules and when they were read."""
        # What a counter showed before the change would bring the old watts in.
        fresh = {uuid: read for uuid, read in energy.items() if read[1] >= self._settled_s}
        patient = step_s < self._settled_s + PATIENCE_S
        if step is None or step_s < self._settled_s or (patient and len(fresh) < len(energy)):
            return
        mark = SpeedMark(step, step_s, fresh)
        if self._start is None or self._last is None or step < self._last.step:
            self._start = self._last = mark
            self._middle = None
            return
        if step > self._last.step:
            self._last = mark
            self._move_on(mark)

    def _move_on(self, mark: SpeedMark) -> None:
        since_s = (self._middle or self._start or mark).step_s
        if mark.step_s - since_s >= LOOK_BACK_S:
            self._start, self._middle = self._middle or self._start, mark

    def speed(self) -> Speed | None:
        start, last = self._start, self._last
        if self._set is None or start is None or last is None or last.step_s <= start.step_s:
            return None
        read = [
            (now_mj - then_mj, now_s - then_s)
            for uuid, (now_mj, now_s) in last.energy.items()
            if uuid in start.energy
            for then_mj, then_s in [start.energy[uuid]]
        ]
        clock_mhz, cpus = self._set
        return Speed(
            steps=last.step - start.step,
            steps_s=last.step_s - start.step_s,
            energy_mj=max(0, sum(mj for mj, _ in read)),
            energy_s=max(0.0, sum(s for _, s in read)),
            clock_mhz=clock_mhz,
            cpus=cpus,
        )
