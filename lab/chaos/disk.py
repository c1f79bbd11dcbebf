"""A node with a small disk of its own, which can be filled."""

import os
import subprocess
from pathlib import Path

SIZE = "24m"
FILLER = "filler"


def mount(directory: Path) -> bool:
    """A small file system under the node's state; false where we may not."""
    directory.mkdir(parents=True, exist_ok=True)
    if os.geteuid() != 0:
        return False
    options = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "fairwatt-chaos", str(directory)]
    return subprocess.run(options, capture_output=True, check=False).returncode == 0


def unmount(directory: Path) -> None:
    subprocess.run(["umount", "--lazy", str(directory)], capture_output=True, check=False)


def fill(directory: Path) -> None:
    """To the last byte."""
    with (directory / FILLER).open("wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while file.write(b"\0" * size):
                    pass
            except OSError:
                continue


def empty(directory: Path) -> None:
    (directory / FILLER).unlink(missing_ok=True)
