"""`nvml` or `emulated:FILE`, as the command line says it."""

from pathlib import Path

from agent.clock import Clock
from agent.devices import catalogue
from agent.devices.base import DevicesError, DeviceSet
from agent.devices.emulated import EmulatedSet


def open_devices(
    choice: str, *, state_dir: Path, node: str, boot_id: str, clock: Clock
) -> DeviceSet:
    kind, _, file = choice.partition(":")
    if kind == "emulated" and file:
        return EmulatedSet(catalogue.load(Path(file)), state_dir / "emulated", node, boot_id, clock)
    if kind == "nvml" and not file:
        from agent.devices.nvml import NvmlSet  # noqa: PLC0415 - emulated nodes need no NVML

        return NvmlSet()
    raise DevicesError(f"{choice!r}: expected nvml or emulated:FILE")
