"""Real GPUs through nvidia-ml-py."""

import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pynvml

from agent.devices.base import ControlRefusedError, DeviceLostError, DevicesError, Reading
from agent.run.processes import Process
from agent.wire import EnergyMethod, GpuInventory, Power

log = logging.getLogger("fairwatt.agent")

# What some driver or card does not offer is left out of a reading; anything else is a fault.
ABSENT = frozenset({pynvml.NVML_ERROR_NOT_SUPPORTED, pynvml.NVML_ERROR_FUNCTION_NOT_FOUND})


@contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except pynvml.NVMLError as error:
        raise DeviceLostError(str(error)) from error


@contextmanager
def _controlling(what: str) -> Iterator[None]:
    try:
        yield
    except pynvml.NVMLError as error:
        raise ControlRefusedError(f"{what}: {error}") from error


def _offered(ask: Callable[..., Any], *arguments: Any) -> Any:
    """The answer, or None where the card or driver does not offer the question."""
    try:
        return ask(*arguments)
    except pynvml.NVMLError as error:
        if error.value in ABSENT:
            return None
        raise


class NvmlGpu:
    def __init__(self, index: int) -> None:
        self._handle = pynvml.nvmlDeviceGetHandleByIndex(index)
        self.inventory = self._look(index)
        minor = _offered(pynvml.nvmlDeviceGetMinorNumber, self._handle)
        self.files = () if minor is None else (f"/dev/nvidia{minor}",)

    def _look(self, index: int) -> GpuInventory:
        handle = self._handle
        _, max_mw = _limits_mw(handle)
        idle = not self.processes()
        power_mw = pynvml.nvmlDeviceGetPowerUsage(handle) if idle else 0
        counter = _offered(pynvml.nvmlDeviceGetTotalEnergyConsumption, handle)
        bus_id = str(pynvml.nvmlDeviceGetPciInfo(handle).busId)
        return GpuInventory(
            uuid=pynvml.nvmlDeviceGetUUID(handle),
            index=index,
            type_name=type_name(pynvml.nvmlDeviceGetName(handle)),
            memory_mib=pynvml.nvmlDeviceGetMemoryInfo(handle).total >> 20,
            max_w=max_mw // 1000,
            idle_w=min(power_mw, max_mw) // 1000,
            min_cap_w=_limits_mw(handle)[0] // 1000,
            clocks_mhz=_clocks_mhz(handle),
            energy_method=EnergyMethod.INTEGRATED if counter is None else EnergyMethod.COUNTER,
            numa_node=_numa_node(bus_id),
            pci_bus_id=bus_id,
        )

    def read(self) -> Reading:
        handle = self._handle
        with _reading():
            rates = _offered(pynvml.nvmlDeviceGetUtilizationRates, handle)
            memory = _offered(pynvml.nvmlDeviceGetMemoryInfo, handle)
            return Reading(
                power_mw=pynvml.nvmlDeviceGetPowerUsage(handle),
                energy_mj=_offered(pynvml.nvmlDeviceGetTotalEnergyConsumption, handle),
                utilisation_pct=rates.gpu if rates else None,
                memory_used_mib=memory.used >> 20 if memory else None,
                temperature_c=_temperature_c(handle),
                clock_mhz=_offered(pynvml.nvmlDeviceGetClockInfo, handle, pynvml.NVML_CLOCK_SM),
            )

    def processes(self) -> frozenset[int]:
        with _reading():
            found = _offered(pynvml.nvmlDeviceGetComputeRunningProcesses, self._handle)
            return frozenset(process.pid for process in found or ())

    def lock_clock(self, clock_mhz: int) -> None:
        with _controlling(f"lock clock at {clock_mhz} MHz"):
            pynvml.nvmlDeviceSetGpuLockedClocks(self._handle, clock_mhz, clock_mhz)

    def unlock_clock(self) -> None:
        with _controlling("unlock clock"):
            pynvml.nvmlDeviceResetGpuLockedClocks(self._handle)

    def cap_power(self, cap_w: int) -> None:
        with _controlling(f"cap power at {cap_w} W"):
            pynvml.nvmlDeviceSetPowerManagementLimit(self._handle, cap_w * 1000)

    def uncap_power(self) -> None:
        with _controlling("restore the default power limit"):
            default_mw = pynvml.nvmlDeviceGetPowerManagementDefaultLimit(self._handle)
            pynvml.nvmlDeviceSetPowerManagementLimit(self._handle, default_mw)

    def may_cap_power(self) -> bool:
        """Tried by setting the limit that is already set."""
        try:
            limit_mw = pynvml.nvmlDeviceGetPowerManagementLimit(self._handle)
            pynvml.nvmlDeviceSetPowerManagementLimit(self._handle, limit_mw)
        except pynvml.NVMLError:
            return False
        return True

    def occupy(self, process: Process | None, busy: float = 1.0) -> None:
        """The driver knows by itself."""


class NvmlSet:
    host = None
    power = Power.ON

    def __init__(self) -> None:
        try:
            pynvml.nvmlInit()
            self.driver = str(pynvml.nvmlSystemGetDriverVersion())
            self.devices = tuple(_open_all(pynvml.nvmlDeviceGetCount()))
        except pynvml.NVMLError as error:
            raise DevicesError(f"NVML: {error}") from error
        self.power_caps = bool(self.devices) and all(gpu.may_cap_power() for gpu in self.devices)
        # Drivers let only root lock clocks; trying it out would undo a lock set by hand.
        self.clocks = os.geteuid() == 0 and all(gpu.inventory.clocks_mhz for gpu in self.devices)

    def switch(self, *, on: bool) -> None:
        """Whoever reads this is on; switching it is the site's business."""

    def close(self) -> None:
        with suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()


def _open_all(count: int) -> Iterator[NvmlGpu]:
    """A lost GPU must not keep the others from work; the service misses it in the inventory."""
    for index in range(count):
        try:
            yield NvmlGpu(index)
        except (pynvml.NVMLError, DeviceLostError) as error:
            log.warning("GPU %s is left out: %s", index, error)


def type_name(name: str) -> str:
    """As the service writes GPU types: without the maker, blanks as hyphens."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name.removeprefix("NVIDIA ")).strip("-._")[:64]


def _limits_mw(handle: Any) -> tuple[int, int]:
    if limits := _offered(pynvml.nvmlDeviceGetPowerManagementLimitConstraints, handle):
        return limits[0], limits[1]
    limit_mw = pynvml.nvmlDeviceGetPowerManagementLimit(handle)
    return 0, limit_mw


def _clocks_mhz(handle: Any) -> tuple[int, ...]:
    memory_mhz = _offered(pynvml.nvmlDeviceGetSupportedMemoryClocks, handle)
    if not memory_mhz:
        return ()
    clocks = _offered(pynvml.nvmlDeviceGetSupportedGraphicsClocks, handle, max(memory_mhz))
    return tuple(sorted(set(clocks or ())))


def _temperature_c(handle: Any) -> Any:
    sensor = pynvml.NVML_TEMPERATURE_GPU
    value = _offered(pynvml.nvmlDeviceGetTemperatureV, handle, sensor)
    if value is None:
        # Deprecated, and the only one that drivers before 565 have.
        value = _offered(pynvml.nvmlDeviceGetTemperature, handle, sensor)
    return value


def _numa_node(bus_id: str) -> int | None:
    domain, _, rest = bus_id.partition(":")
    path = Path(f"/sys/bus/pci/devices/{domain[-4:]}:{rest}/numa_node".lower())
    try:
        node = int(path.read_text())
    except (OSError, ValueError):
        return None
    return node if node >= 0 else None
