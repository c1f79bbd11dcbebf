"""Readings of the GPUs, on the node's boot clock; a batch may be repeated or never come."""

from typing import Annotated

from msgspec import Meta

from agent.wire.bounds import BootId, Count, Id, Millijoules, Milliwatts, Uuid
from agent.wire.message import AgentMessage, ServiceMessage, WireError
from agent.wire.register import EnergyMethod

MAX_SAMPLES = 2048

BootMs = Annotated[int, Meta(ge=0, le=2**53)]


class SampleReport(AgentMessage, frozen=True):
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
    utilisation_pct: Annotated[int, Meta(ge=0, le=100)] | None = None
    memory_used_mib: Annotated[int, Meta(ge=0, le=2**24)] | None = None
    temperature_c: Annotated[int, Meta(ge=-50, le=250)] | None = None
    clock_mhz: Annotated[int, Meta(ge=0, le=20_000)] | None = None


class HostReading(AgentMessage, frozen=True):
    cpu_pct: Annotated[float, Meta(ge=0, le=100)]
    memory_used_mib: Annotated[int, Meta(ge=0, le=2**26)]


class Telemetry(AgentMessage, frozen=True):
    """A reading was taken at: arrival of the batch - (sent_boot_ms - boot_ms)."""

    epoch: Id
    boot_id: BootId
    sent_boot_ms: BootMs
    samples: Annotated[tuple[SampleReport, ...], Meta(max_length=MAX_SAMPLES)]
    samples_shed: Count = 0  # since the agent started; the oldest go first
    host: HostReading | None = None

    def __post_init__(self) -> None:
        if any(sample.boot_ms > self.sent_boot_ms for sample in self.samples):
            raise WireError("/sent_boot_ms", "before one of its samples")


class TelemetryTaken(ServiceMessage, frozen=True):
    sample_interval_s: Annotated[float, Meta(ge=0.05, le=3600)] | None = None
