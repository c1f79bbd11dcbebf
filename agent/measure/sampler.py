"""Readings of all GPUs, numbered, attributed to who held them, and kept until they are sent."""

import contextlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import psutil

from agent.clock import Clock
from agent.devices.base import Device, DeviceLostError, Reading
from agent.remember.files import read_json, write_whole
from agent.wire import MAX_SAMPLES, EnergyMethod, HostReading, SampleReport

BUFFER_SAMPLES = 50_000  # an hour and a half of eight GPUs at one second


@dataclass(frozen=True, slots=True)
class LatestReading:
    """The newest of one GPU; `fault` says why there is no newer one."""

    energy_mj: int | None = None
    method: EnergyMethod = EnergyMethod.COUNTER
    fault: str = ""
    read_s: float = 0.0


@dataclass(slots=True)
class GpuMeter:
    """A counter that only rises: a driver's restart is bridged, a missing one integrated."""

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


class GpuSampler:
    def __init__(
        self,
        devices: Mapping[str, Device],
        path: Path,
        boot_id: str,
        clock: Clock,
        room: int = BUFFER_SAMPLES,
    ) -> None:
        self._devices, self._path, self._boot_id, self._clock = devices, path, boot_id, clock
        kept = read_json(path)
        # Within one boot the numbers go on where they were; (GPU, boot, number) is used once.
        ours = kept if kept is not None and kept["boot_id"] == boot_id else None
        self._sequence: int = ours["sequence"] if ours else 0
        self._meters = {
            uuid: GpuMeter(**ours["meters"][uuid])
            if ours and uuid in ours["meters"]
            else GpuMeter()
            for uuid in devices
        }
        self.holders: dict[str, int | None] = dict.fromkeys(devices)
        self.latest: dict[str, LatestReading] = dict.fromkeys(
            devices, LatestReading(fault="not yet read")
        )
        self._room = room
        self._waiting: deque[SampleReport] = deque()
        self.shed = 0

    def sample(self) -> None:
        """Read every GPU once."""
        self._take(list(self._devices))

    def hand_over(self, uuids: tuple[str, ...], attempt_id: int | None) -> dict[str, int]:
        """Read the GPUs at the moment they change hands; the counters that could be read."""
        self._take(uuids)
        for uuid in uuids:
            self.holders[uuid] = attempt_id
        return {
            uuid: measured.energy_mj
            for uuid in uuids
            if (measured := self.latest[uuid]).energy_mj is not None
        }

    def batch(self) -> tuple[SampleReport, ...]:
        """The oldest samples not yet taken by the service."""
        return tuple(self._waiting[index] for index in range(min(MAX_SAMPLES, len(self._waiting))))

    def taken(self, batch: tuple[SampleReport, ...]) -> None:
        """Forget what the service has; some of it may have been shed while under way."""
        sent = {(sample.uuid, sample.sequence) for sample in batch}
        while self._waiting and (self._waiting[0].uuid, self._waiting[0].sequence) in sent:
            self._waiting.popleft()

    def _take(self, uuids: list[str] | tuple[str, ...]) -> None:
        self._sequence += 1
        samples = [sample for uuid in uuids if (sample := self._measure(uuid)) is not None]
        self._keep_state()
        self._waiting.extend(samples)
        while len(self._waiting) > self._room:
            self._waiting.popleft()
            self.shed += 1

    def _measure(self, uuid: str) -> SampleReport | None:
        try:
            reading = self._devices[uuid].read()
        except DeviceLostError as fault:
            before = self.latest[uuid]
            self.latest[uuid] = replace(before, fault=str(fault)[:200])
            return None
        now_ms = int(self._clock() * 1000)
        energy_mj, method = self._meters[uuid].advance(reading, now_ms)
        self.latest[uuid] = LatestReading(energy_mj, method, read_s=now_ms / 1000)
        return SampleReport(
            uuid=uuid,
            sequence=self._sequence,
            boot_ms=now_ms,
            energy_mj=energy_mj,
            power_mw=reading.power_mw,
            attempt_id=self.holders[uuid],
            energy_method=method,
            utilisation_pct=reading.utilisation_pct,
            memory_used_mib=reading.memory_used_mib,
            temperature_c=reading.temperature_c,
            clock_mhz=reading.clock_mhz,
        )

    def _keep_state(self) -> None:
        document = {
            "boot_id": self._boot_id,
            "sequence": self._sequence,
            "meters": self._meters,
        }
        with contextlib.suppress(OSError):  # a full disk: only a crash would miss it
            write_whole(self._path, msgspec.json.encode(document), durable=False)


def host_reading() -> HostReading:
    used = psutil.virtual_memory().used >> 20
    return HostReading(cpu_pct=min(100.0, psutil.cpu_percent()), memory_used_mib=used)
