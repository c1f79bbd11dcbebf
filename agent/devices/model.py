"""The physics of an emulated GPU: watts from clock, cap and load, joules from watts and time."""

import math
from dataclasses import dataclass

AMBIENT_C = 28.0
# A card at full power settles about 50 degrees above the air, in about half a minute.
RISE_AT_MAX_C = 50.0
THERMAL_LAG_S = 30.0
# Dynamic power grows with f·V², and above a floor V grows with f: between linear and cubic.
LINEAR_SHARE = 0.3
# A GPU that waits, for others or for data, keeps its clock and spins or stalls: more than idle, far
# less than computing. Of an A100's 400 W this leaves about 125.
WAITING_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class GpuModel:
    idle_w: int
    max_w: int
    clocks_mhz: tuple[int, ...]
    waiting: float = WAITING_SHARE

    def power_mw(self, clock_mhz: int, load: float, busy: float = 1.0) -> int:
        """`busy` is the share of the time in which it computes; for the rest it waits."""
        x = clock_mhz / self.clocks_mhz[-1]
        computing = LINEAR_SHARE * x + (1 - LINEAR_SHARE) * x**3
        dynamic = busy * computing + (1 - busy) * self.waiting * x
        return round(1000 * (self.idle_w + load * (self.max_w - self.idle_w) * dynamic))

    def clock_mhz(self, lock_mhz: int | None, cap_w: int | None, load: float) -> int:
        """The highest clock that lock and cap allow; the lowest there is when idle."""
        if load == 0:
            return self.clocks_mhz[0]
        cap_mw = 1000 * (self.max_w if cap_w is None else cap_w)
        allowed = [
            clock
            for clock in self.clocks_mhz
            if (lock_mhz is None or clock <= lock_mhz) and self.power_mw(clock, load) <= cap_mw
        ]
        return allowed[-1] if allowed else self.clocks_mhz[0]

    def temperature_c(self, before_c: float, power_mw: int, elapsed_s: float) -> float:
        target_c = AMBIENT_C + RISE_AT_MAX_C * power_mw / (1000 * self.max_w)
        return target_c + (before_c - target_c) * math.exp(-elapsed_s / THERMAL_LAG_S)


def energy_uj(power_mw: int, elapsed_ms: int) -> int:
    """Exact: a milliwatt for a millisecond is a microjoule."""
    return power_mw * elapsed_ms
