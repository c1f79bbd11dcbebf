"""The node's own clock: counts from boot, knows no time zone, and runs on through suspend."""

import time
from collections.abc import Callable
from pathlib import Path

Clock = Callable[[], float]


def boot_s() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
