"""Readings of the GPUs, on the node's boot clock; a batch may be repeated or never come."""

from dataclasses import dataclass
from typing import Annotated

from agent.wire.bounds import BootId, Count, Id, Millijoules, Milliwatts, Uuid
from agent.wire.codec import Items, Range, WireError
from agent.wire.register import EnergyMethod

MAX_SAMPLES = 2048

BootMs = Annotated[int, Range(0, 2**53)]


@dataclass(frozen=True, slots=True)
class Sample:
    """One reading; (uuid, boot id, sequence) names it, so that a repeated one counts once.

    `attempt_id` is who held the GPU in the interval that ends with this reading: one reading is
    taken when a GPU is taken and one when it is left, so no interval has two holders.
    """

    uuid: Uuid
    sequence: Count
    boot_ms: BootMs
    energy_mj: Millijoules  # never falls, even when the driver's own counter starts anew
    power_mw: Milliwatts
    attempt_id: Id | None = None
    energy_method: EnergyMethod = EnergyMethod.COUNTER
    utilisation_pct: Annotated[int, Range(0, 100)] | None = None
    memory_used_mib: Annotated[int, Range(0, 2**24)] | None = None
    temperature_c: Annotated[int, Range(-50, 250)] | None = None
    clock_mhz: Annotated[int, Range(0, 20_000)] | None = None


@dataclass(frozen=True, slots=True)
class HostReading:
    cpu_pct: Annotated[float, Range(0, 100)]
    memory_used_mib: Annotated[int, Range(0, 2**26)]


@dataclass(frozen=True, slots=True)
class Telemetry:
    """A reading was taken at: arrival of the batch - (sent_boot_ms - boot_ms)."""

    epoch: Id
    boot_id: BootId
    sent_boot_ms: BootMs
    samples: Annotated[tuple[Sample, ...], Items(MAX_SAMPLES)]
    samples_shed: Count = 0  # since the agent started; the oldest go first
    host: HostReading | None = None

    def __post_init__(self) -> None:
        if any(sample.boot_ms > self.sent_boot_ms for sample in self.samples):
            raise WireError("/sent_boot_ms", "before one of its samples")


@dataclass(frozen=True, slots=True)
class TelemetryTaken:
    sample_interval_s: Annotated[float, Range(0.05, 3600)] | None = None
