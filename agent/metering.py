"""Counters that only rise: a driver's restart is bridged, a missing counter integrated."""

from dataclasses import dataclass

from agent.devices.base import Reading
from agent.wire import EnergyMethod


@dataclass(slots=True)
class Meter:
    """One GPU's energy within one boot; without a restart of the driver it is its counter."""

    base_mj: int = 0
    counter_mj: int | None = None
    integrated_uj: int = 0
    power_mw: int = 0
    boot_ms: int | None = None

    def advance(self, reading: Reading, now_ms: int) -> tuple[int, EnergyMethod]:
        if reading.energy_mj is None:
            return self._integrate(reading.power_mw, now_ms), EnergyMethod.INTEGRATED
        if self.counter_mj is not None and reading.energy_mj < self.counter_mj:
            # The driver was reloaded and counts from zero again.
            self.base_mj += self.counter_mj
        self.counter_mj = reading.energy_mj
        return self.base_mj + reading.energy_mj, EnergyMethod.COUNTER

    def _integrate(self, power_mw: int, now_ms: int) -> int:
        elapsed_ms = 0 if self.boot_ms is None else max(0, now_ms - self.boot_ms)
        # Trapezoid: milliwatts times milliseconds are microjoules.
        self.integrated_uj += (self.power_mw + power_mw) * elapsed_ms // 2
        self.power_mw, self.boot_ms = power_mw, now_ms
        return self.integrated_uj // 1000
