"""What this host is and what it can do, found out by trying."""

import os
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from agent.devices.base import DeviceSet
from agent.run import cgroup
from agent.run.cgroup import Cgroups, CgroupsError
from agent.wire import ContainerTool, Features, MemoryLimit, NumaNode

PROBE_TIMEOUT_S = 20.0


@dataclass(frozen=True, slots=True)
class HostTools:
    """The tools attempts are run with; None where the host cannot."""

    features: Features
    cgroups: Cgroups | None
    numa: tuple[NumaNode, ...]
    cpus: tuple[int, ...]


def probe(devices: DeviceSet, *, want_containers: bool) -> HostTools:
    notes: list[str] = []
    cgroups = _cgroups(notes)
    features = Features(
        cgroup=cgroups is not None,
        bubblewrap=_bubblewrap(notes),
        affinity=_affinity(notes),
        memory_limit=MemoryLimit.CGROUP if cgroups else MemoryLimit.RLIMIT,
        containers=_containers(notes) if want_containers else None,
        clocks=devices.clocks,
        power_caps=devices.power_caps,
        memory_in_place=cgroups is not None or _raises_limits(notes),
        notes=tuple(note[:200] for note in notes),
    )
    return HostTools(features, cgroups, numa_nodes(), tuple(sorted(os.sched_getaffinity(0))))


def memory_mib() -> int:
    return psutil.virtual_memory().total >> 20


def address_towards(server: str) -> str:
    """The address of this host on the way to the service: other nodes likely reach it there."""
    parts = urlsplit(server)
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((parts.hostname or "", parts.port or 443))
            return str(probe.getsockname()[0])
    except OSError:
        return "127.0.0.1"


def numa_nodes(root: Path = Path("/sys/devices/system/node")) -> tuple[NumaNode, ...]:
    return tuple(
        NumaNode(
            int(path.name.removeprefix("node")),
            cpu_list((path / "cpulist").read_text()),
            _total_mib((path / "meminfo").read_text()),
        )
        for path in sorted(root.glob("node[0-9]*"))
    )


def cpu_list(text: str) -> tuple[int, ...]:
    """`0-3,8` as the kernel writes it."""
    cpus: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        cpus += range(int(first), int(last or first) + 1)
    return tuple(cpus)


def _total_mib(meminfo: str) -> int:
    for line in meminfo.splitlines():
        if "MemTotal:" in line:
            return int(line.split()[-2]) >> 10
    return 0


def _cgroups(notes: list[str]) -> Cgroups | None:
    try:
        return cgroup.delegated(Path("/proc/self/cgroup").read_text())
    except (CgroupsError, OSError) as why:
        notes.append(f"cgroup: {why}; memory is limited per process (RLIMIT_DATA)")
        return None


def _raises_limits(notes: list[str]) -> bool:
    """Tried in a process of its own: lowered and not raised again, the agent's would stay low."""
    code = (
        "from resource import RLIMIT_DATA, setrlimit\n"
        "for size in (1 << 30, 2 << 30): setrlimit(RLIMIT_DATA, (size, size))"
    )
    return _works((sys.executable, "-I", "-S", "-c", code), "raising a memory limit", notes)


def _bubblewrap(notes: list[str]) -> bool:
    """Really run one: having the program says nothing about being allowed to unshare."""
    argv = ("bwrap", "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc")
    return _works((*argv, "--unshare-pid", "--unshare-ipc", "--", "true"), "bubblewrap", notes)


def _affinity(notes: list[str]) -> bool:
    """Tried by setting what is already set."""
    try:
        os.sched_setaffinity(0, os.sched_getaffinity(0))
    except OSError as error:
        notes.append(f"affinity: {error.strerror}")
        return False
    return True


def _containers(notes: list[str]) -> ContainerTool | None:
    tools = (tool for tool in ContainerTool if _works((tool, "info"), f"container {tool}", notes))
    return next(tools, None)


def _works(argv: tuple[str, ...], what: str, notes: list[str]) -> bool:
    if shutil.which(argv[0]) is None:
        notes.append(f"{what}: {argv[0]} is not installed")
        return False
    try:
        done = subprocess.run(  # noqa: S603 - the probes above, nobody's input
            argv, capture_output=True, check=False, timeout=PROBE_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        notes.append(f"{what}: {error}")
        return False
    if done.returncode != 0:
        said = (done.stderr.decode(errors="replace").strip().splitlines() or ["failed"])[-1]
        notes.append(f"{what}: {said}")
    return done.returncode == 0
