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
from agent.run import cgroup, cgroup_v1
from agent.run.cgroup import Cgroups, CgroupsError
from agent.run.cgroup_v1 import CgroupsV1
from agent.run.container import ENGINES
from agent.run.gpu_files import GpuFiles
from agent.run.tenant_users import TenantUsers, User
from agent.wire import ContainerTool, DesiredAttempt, Features, MemoryLimit, NumaNode, Wall

PROBE_TIMEOUT_S = 20.0
CATATONIT = (Path("/usr/bin/catatonit"), Path("/usr/libexec/podman/catatonit"))


@dataclass(frozen=True, slots=True)
class HostTools:
    """The tools attempts are run with; None where the host cannot."""

    features: Features
    cgroups: Cgroups | None
    numa: tuple[NumaNode, ...]
    cpus: tuple[int, ...]
    gpu_files: GpuFiles
    wall_options: tuple[str, ...] = ()
    shown: tuple[Path, ...] = ()
    container_init: bool = False

    def engine(self, attempt: DesiredAttempt) -> ContainerTool | None:
        """What makes, limits and ends the attempt's containers, if it has any such."""
        tool = self.features.containers
        return tool if attempt.image and tool in ENGINES else None


def probe(
    devices: DeviceSet,
    *,
    want_containers: bool,
    users: TenantUsers,
    state: Path,
    shown: tuple[Path, ...] = (),
) -> HostTools:
    notes: list[str] = []
    cgroups = _cgroups(notes)
    walled = _bubblewrap(users.example, notes)
    gpu_files = GpuFiles.of_devices(devices)
    _note_gpus(gpu_files, cgroups, walled is not None, notes)
    features = Features(
        cgroup=cgroups is not None,
        bubblewrap=walled is not None,
        affinity=_affinity(notes),
        memory_limit=MemoryLimit.CGROUP if cgroups else MemoryLimit.RLIMIT,
        containers=_containers(users, state, walled is not None, notes)
        if want_containers
        else None,
        clocks=devices.clocks,
        power_caps=devices.power_caps,
        memory_in_place=cgroups is not None or _raises_limits(notes),
        wall=_wall(users, walled is not None),
        workloads=True,
        git=_works(("git", "--version"), "working directories from git", notes),
        notes=tuple(note[:200] for note in notes),
    )
    return HostTools(
        features,
        cgroups,
        numa_nodes(),
        tuple(sorted(os.sched_getaffinity(0))),
        gpu_files,
        wall_options=walled or (),
        shown=shown,
        container_init=_container_init(features.containers),
    )


def _wall(users: TenantUsers, namespaces: bool) -> Wall:
    if users.uids is None:
        return Wall.NONE
    return Wall.NAMESPACES if namespaces else Wall.UID


def _note_gpus(
    gpu_files: GpuFiles, cgroups: Cgroups | None, walled: bool, notes: list[str]
) -> None:
    closed = cgroups is not None and isinstance(cgroups, CgroupsV1)
    if gpu_files.files and not walled and not closed:
        notes.append("GPUs of others are closed to attempts by CUDA_VISIBLE_DEVICES only")


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
    own = Path("/proc/self/cgroup").read_text()
    reasons = []
    for find in (cgroup.delegated, cgroup_v1.mounted):
        try:
            return find(own)
        except (CgroupsError, OSError) as why:
            reasons.append(str(why))
    notes.append(f"cgroup: {'; '.join(reasons)}; memory is limited per process (RLIMIT_DATA)")
    return None


def _raises_limits(notes: list[str]) -> bool:
    """Tried in a process of its own: lowered and not raised again, the agent's would stay low."""
    code = (
        "from resource import RLIMIT_DATA, setrlimit\n"
        "for size in (1 << 30, 2 << 30): setrlimit(RLIMIT_DATA, (size, size))"
    )
    return _works((sys.executable, "-I", "-S", "-c", code), "raising a memory limit", notes)


def _bubblewrap(user: User | None, notes: list[str]) -> tuple[str, ...] | None:
    """Really run one, as a tenant would be: having it says nothing about being allowed to unshare.

    What it is called with beside the rest, or None.
    """
    argv = ("bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    probe = (*argv, "--unshare-pid", "--unshare-ipc", "--unshare-net")
    for options in (("--unshare-user", "--disable-userns"), ("--unshare-user",)):
        tried: list[str] = []
        if _works((*probe, *options, "--", "true"), "bubblewrap", tried, user):
            return options
    notes += tried
    return None


def _container_init(tool: ContainerTool | None) -> bool:
    """podman has a program for it that may be missing."""
    if tool is ContainerTool.PODMAN:
        return any(path.exists() for path in CATATONIT)
    return tool is ContainerTool.DOCKER


def _affinity(notes: list[str]) -> bool:
    """Tried by setting what is already set."""
    try:
        os.sched_setaffinity(0, os.sched_getaffinity(0))
    except OSError as error:
        notes.append(f"affinity: {error.strerror}")
        return False
    return True


def _containers(
    users: TenantUsers, state: Path, walled: bool, notes: list[str]
) -> ContainerTool | None:
    """An image may close the same folders to a tenant that the host does, as /root."""
    if closed := users.unreachable(state):
        notes.append(f"containers: {closed}")
        return None
    for tool in (ContainerTool.PODMAN, ContainerTool.DOCKER):
        if _works((tool, "info"), f"container {tool}", notes):
            return tool
    if _apptainer(users.example, walled, notes):
        return ContainerTool.APPTAINER
    if shutil.which(ContainerTool.ENROOT):
        notes.append("container enroot: it shares processes and devices, and so is not used")
    return None


def _apptainer(user: User | None, walled: bool, notes: list[str]) -> bool:
    """It needs a user namespace within the wall's; tried with the wall's own tool."""
    what = f"container {ContainerTool.APPTAINER}"
    if not _works((ContainerTool.APPTAINER, "--version"), what, notes):
        return False
    if not walled:
        notes.append(f"{what}: it runs inside bubblewrap, which does not work here")
        return False
    wall = ("bwrap", "--unshare-user", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
    return _works((*wall, "--", *wall, "--", "true"), what, notes, user)


def _works(argv: tuple[str, ...], what: str, notes: list[str], user: User | None = None) -> bool:
    if shutil.which(argv[0]) is None:
        notes.append(f"{what}: {argv[0]} is not installed")
        return False
    try:
        done = subprocess.run(  # noqa: S603 - the probes above, nobody's input
            argv,
            capture_output=True,
            check=False,
            timeout=PROBE_TIMEOUT_S,
            user=user.uid if user else None,
            group=user.gid if user else None,
            extra_groups=[] if user else None,
            cwd="/",
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        notes.append(f"{what}: {error}")
        return False
    if done.returncode != 0:
        said = (done.stderr.decode(errors="replace").strip().splitlines() or ["failed"])[-1]
        notes.append(f"{what}: {said}")
    return done.returncode == 0
