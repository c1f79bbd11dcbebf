"""The device files of GPUs: those of an attempt's own, and those that it must not open."""

import contextlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent.devices.base import DeviceSet

# Of the driver as a whole: no GPU works without them.
SHARED = (
    *("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"),
    *("/dev/nvidia-caps", "/dev/infiniband"),
)


@dataclass(frozen=True, slots=True)
class GpuFiles:
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    by_driver: bool = False  # a container tool knows these GPUs by their uuids

    @classmethod
    def of_devices(cls, devices: DeviceSet) -> "GpuFiles":
        files = {each.inventory.uuid: each.files for each in devices.devices if each.files}
        return cls(files, by_driver=devices.driver != "emulated")

    def of(self, uuids: Collection[str]) -> tuple[str, ...]:
        """Empty where a tool brings them by itself."""
        own = tuple(path for uuid in uuids for path in self.files.get(uuid, ()))
        return (*own, *(path for path in SHARED if own and Path(path).exists()))

    def numbers_but(self, uuids: Collection[str]) -> list[int]:
        """Of the files of all other GPUs."""
        numbers = []
        for uuid, paths in self.files.items():
            for path in paths if uuid not in uuids else ():
                with contextlib.suppress(OSError):
                    numbers.append(Path(path).stat().st_rdev)
        return numbers
