"""The emulated nodes of the live power budget: GPUs with eight clocks."""

from pathlib import Path
from typing import Any

NODE = """
[[gpus]]
type = "{name}"
count = 8
memory_mib = {memory_mib}
idle_w = {idle_w}
max_w = {max_w}
clocks_mhz = {clocks_mhz}

[host]
cpus = 64
memory_mib = 524288
idle_w = 250
peak_w = 800
boot_s = 10
"""
# Eight clocks each, with the watts of the makers' data sheets.
KINDS: dict[str, dict[str, Any]] = {
    "a100x8": {
        "name": "A100", "memory_mib": 81920, "idle_w": 55, "max_w": 400,
        "clocks_mhz": [705, 810, 915, 1005, 1110, 1215, 1305, 1410],
    },
    "v100x8": {
        "name": "V100", "memory_mib": 32768, "idle_w": 40, "max_w": 300,
        "clocks_mhz": [765, 870, 975, 1087, 1200, 1305, 1417, 1530],
    },
}  # fmt: skip


def write_devices(directory: Path) -> Path:
    """A file for each kind of node."""
    for name, kind in KINDS.items():
        (directory / f"{name}.toml").write_text(NODE.format(**kind))
    return directory
