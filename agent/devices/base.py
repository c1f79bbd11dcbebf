"""What the agent asks of a GPU, and the two ways in which a GPU says no."""

from dataclasses import dataclass
from typing import Protocol

from agent.run.processes import Process
from agent.wire import GpuInventory, Power


class DeviceLostError(Exception):
    """The GPU cannot be read: fallen off the bus, or the driver is gone."""


class ControlRefusedError(Exception):
    """The driver would not set a clock or a cap; the text is what it said."""


class DevicesError(Exception):
    """There is no set of GPUs to work with, and why."""


@dataclass(frozen=True, slots=True)
class Reading:
    power_mw: int
    energy_mj: int | None  # the driver's counter; None where it has none
    utilisation_pct: int | None = None
    memory_used_mib: int | None = None
    temperature_c: int | None = None
    clock_mhz: int | None = None


@dataclass(frozen=True, slots=True)
class HostFacts:
    """What an emulated node claims to be; a real one is looked at instead."""

    cpus: int
    memory_mib: int
    idle_w: int
    peak_w: int
    boot_s: float = 0.0  # from being switched on until it can work


class Device(Protocol):
    @property
    def inventory(self) -> GpuInventory: ...

    @property
    def files(self) -> tuple[str, ...]:
        """Device files of this GPU alone."""

    def read(self) -> Reading: ...

    def processes(self) -> frozenset[int]: ...

    def lock_clock(self, clock_mhz: int) -> None: ...

    def unlock_clock(self) -> None: ...

    def cap_power(self, cap_w: int) -> None: ...

    def uncap_power(self) -> None: ...

    def occupy(self, process: Process | None, busy: float = 1.0) -> None:
        """Tell an emulated GPU who works on it, and for what share of the time it computes rather
        than waits; a real one finds out by itself.
        """


class DeviceSet(Protocol):
    @property
    def driver(self) -> str: ...

    @property
    def devices(self) -> tuple[Device, ...]: ...

    @property
    def host(self) -> HostFacts | None: ...

    @property
    def clocks(self) -> bool: ...

    @property
    def power_caps(self) -> bool: ...

    @property
    def power(self) -> Power: ...

    def switch(self, *, on: bool) -> None:
        """Switch an emulated node; a real one is switched by others."""

    def close(self) -> None: ...
