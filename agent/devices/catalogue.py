"""The small TOML file that says what an emulated node is made of."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.devices.base import DevicesError, HostFacts
from agent.devices.model import LINEAR_SHARE, WAITING_SHARE, GpuModel


@dataclass(frozen=True, slots=True)
class EmulatedGpuKind:
    type_name: str
    count: int
    memory_mib: int
    load: float
    model: GpuModel
    device: str = ""  # a device file each, for tests of walls: `{index}` is the GPU's


@dataclass(frozen=True, slots=True)
class Catalogue:
    kinds: tuple[EmulatedGpuKind, ...]
    host: HostFacts | None


def load(path: Path) -> Catalogue:
    try:
        document = tomllib.loads(path.read_text())
        kinds = tuple(_kind(entry) for entry in document["gpus"])
        host = document.get("host")
        return Catalogue(kinds, HostFacts(**host) if host is not None else None)
    except FileNotFoundError:
        raise DevicesError(f"{path}: no such file") from None
    except KeyError as error:
        raise DevicesError(f"{path}: lacks {error}") from None
    except (tomllib.TOMLDecodeError, TypeError, ValueError) as error:
        raise DevicesError(f"{path}: {error}") from None


def _kind(entry: dict[str, Any]) -> EmulatedGpuKind:
    clocks_mhz = tuple(sorted(entry["clocks_mhz"]))
    waiting = entry.get("waiting", WAITING_SHARE)
    model = GpuModel(entry["idle_w"], entry["max_w"], clocks_mhz, waiting)
    kind = EmulatedGpuKind(
        entry["type"],
        entry["count"],
        entry["memory_mib"],
        entry.get("load", 1.0),
        model,
        entry.get("device", ""),
    )
    if not clocks_mhz or kind.count < 1 or not 0 <= kind.load <= 1:
        raise ValueError(f"{kind.type_name}: needs clocks, a count and a load between 0 and 1")
    # Any more, and at a low clock waiting would draw more than computing.
    if not 0 <= model.waiting <= LINEAR_SHARE:
        raise ValueError(f"{kind.type_name}: waiting lies between 0 and {LINEAR_SHARE}")
    if not 0 <= model.idle_w < model.max_w:
        raise ValueError(f"{kind.type_name}: idle_w must lie below max_w")
    return kind
