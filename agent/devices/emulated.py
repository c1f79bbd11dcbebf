"""GPUs that are not there: each keeps counter, clock, cap and heat in a file shared by all."""

import fcntl
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from agent.clock import Clock
from agent.devices.base import ControlRefusedError, DeviceLostError, HostFacts, Reading
from agent.devices.catalogue import Catalogue, EmulatedGpuKind
from agent.devices.model import AMBIENT_C, energy_uj
from agent.remember.disk import write_in_place
from agent.run.processes import Process
from agent.wire import GpuInventory, Power

NAMESPACE = uuid.UUID("6b1e4a52-5f0e-4c67-9f0b-5a3d2f8f6a10")  # ours, drawn once
BUSY_MEMORY_SHARE = 0.8
STATE_BYTES = 2048


@dataclass(slots=True)
class EmulatedGpuState:
    boot_id: str
    boot_ms: int
    energy_uj: int = 0
    temperature_c: float = AMBIENT_C
    lock_mhz: int | None = None
    cap_w: int | None = None
    occupant: tuple[int, int] | None = None  # pid and start time
    busy_share: float = 1.0  # of the time in which the occupant computes, rather than waits
    foreign_pids: list[int] = field(default_factory=list)
    lost: bool = False
    off: bool = False  # with its node: it draws nothing
    booted_ms: int = 0  # when its node can work again after being switched on

    @property
    def busy(self) -> bool:
        return self.occupant is not None and Process(*self.occupant).alive


_decoder = msgspec.json.Decoder(EmulatedGpuState)


class EmulatedGpu:
    def __init__(
        self, kind: EmulatedGpuKind, inventory: GpuInventory, path: Path, boot_id: str, clock: Clock
    ) -> None:
        self.kind, self.inventory = kind, inventory
        self._path, self._boot_id, self._clock = path, boot_id, clock
        self._kept = path.with_suffix(".json")

    @property
    def files(self) -> tuple[str, ...]:
        pattern = self.kind.device
        return (pattern.format(index=self.inventory.index),) if pattern else ()

    def read(self) -> Reading:
        with self.state() as state:
            if state.lost:
                raise DeviceLostError("GPU is lost")
            load = self._load(state)
            clock_mhz = self.kind.model.clock_mhz(state.lock_mhz, state.cap_w, load)
            used = BUSY_MEMORY_SHARE if load else 0.0
            return Reading(
                power_mw=self._power_mw(state),
                energy_mj=state.energy_uj // 1000,
                utilisation_pct=round(100 * load),
                memory_used_mib=round(used * self.kind.memory_mib),
                temperature_c=round(state.temperature_c),
                clock_mhz=clock_mhz,
            )

    def processes(self) -> frozenset[int]:
        state = self._seen()
        ours = {state.occupant[0]} if state.occupant and state.busy else set()
        return frozenset(ours | set(state.foreign_pids))

    def lock_clock(self, clock_mhz: int) -> None:
        if clock_mhz not in self.kind.model.clocks_mhz:
            raise ControlRefusedError(f"{clock_mhz} MHz is not a clock of {self.kind.type_name}")
        with self.state() as state:
            state.lock_mhz = clock_mhz

    def unlock_clock(self) -> None:
        with self.state() as state:
            state.lock_mhz = None

    def cap_power(self, cap_w: int) -> None:
        low, high = self.inventory.min_cap_w, self.inventory.max_w
        if not low <= cap_w <= high:
            raise ControlRefusedError(f"{cap_w} W is not between {low} and {high} W")
        with self.state() as state:
            state.cap_w = cap_w

    def uncap_power(self) -> None:
        with self.state() as state:
            state.cap_w = None

    def occupy(self, process: Process | None, busy: float = 1.0) -> None:
        with self.state() as state:
            state.occupant = (process.pid, process.start_ticks) if process else None
            state.busy_share = busy

    def switch(self, *, on: bool, boot_s: float) -> None:
        with self.state() as state:
            if state.off and on:
                state.booted_ms = state.boot_ms + int(1000 * boot_s)
            state.off = not on

    def power(self) -> Power:
        state = self._seen()
        if state.off:
            return Power.OFF
        return Power.BOOTING if state.boot_ms < state.booted_ms else Power.ON

    @contextmanager
    def state(self) -> Iterator[EmulatedGpuState]:
        """The state, brought up to now before anything changes it, and kept afterwards."""
        with self._path.open("a+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            state = self._read()
            try:
                yield state
            finally:
                write_in_place(self._kept, msgspec.json.encode(state), STATE_BYTES)

    def _seen(self) -> EmulatedGpuState:
        """The state of now, for one who changes nothing."""
        with self._path.open("a+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH)
            return self._read()

    def _read(self) -> EmulatedGpuState:
        now_ms = int(self._clock() * 1000)
        try:
            state = _decoder.decode(self._kept.read_bytes())
        except FileNotFoundError:
            state = EmulatedGpuState(self._boot_id, now_ms)
        self._advance(state, now_ms)
        return state

    def _advance(self, state: EmulatedGpuState, now_ms: int) -> None:
        same_boot = state.boot_id == self._boot_id
        elapsed_ms = max(0, now_ms - state.boot_ms) if same_boot else 0
        if not same_boot:
            state.booted_ms = 0
        power_mw = self._power_mw(state)
        model = self.kind.model
        state.energy_uj += energy_uj(power_mw, elapsed_ms)
        state.temperature_c = model.temperature_c(state.temperature_c, power_mw, elapsed_ms / 1000)
        state.boot_id, state.boot_ms = self._boot_id, now_ms

    def _power_mw(self, state: EmulatedGpuState) -> int:
        if state.off:
            return 0
        load, model = self._load(state), self.kind.model
        clock_mhz = model.clock_mhz(state.lock_mhz, state.cap_w, load)
        return model.power_mw(clock_mhz, load, state.busy_share)

    def _load(self, state: EmulatedGpuState) -> float:
        return self.kind.load if state.busy else 0.0


class EmulatedSet:
    driver = "emulated"
    clocks = power_caps = True

    def __init__(
        self, catalogue: Catalogue, directory: Path, node: str, boot_id: str, clock: Clock
    ) -> None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.host: HostFacts | None = catalogue.host
        kinds = [kind for kind in catalogue.kinds for _ in range(kind.count)]
        self.devices = tuple(
            EmulatedGpu(
                kind, _inventory(kind, node, index), directory / f"gpu{index}", boot_id, clock
            )
            for index, kind in enumerate(kinds)
        )

    @property
    def power(self) -> Power:
        """All its GPUs are switched together."""
        return self.devices[0].power()

    def switch(self, *, on: bool) -> None:
        boot_s = self.host.boot_s if self.host else 0.0
        for gpu in self.devices:
            gpu.switch(on=on, boot_s=boot_s)

    def close(self) -> None:
        """Nothing is held open."""


def _inventory(kind: EmulatedGpuKind, node: str, index: int) -> GpuInventory:
    return GpuInventory(
        uuid=f"GPU-{uuid.uuid5(NAMESPACE, f'{node}/{index}')}",
        index=index,
        type_name=kind.type_name,
        memory_mib=kind.memory_mib,
        max_w=kind.model.max_w,
        idle_w=kind.model.idle_w,
        min_cap_w=max(kind.model.idle_w, kind.model.max_w // 4),
        clocks_mhz=kind.model.clocks_mhz,
        pci_bus_id=f"emulated:{index}",
    )
