"""Control groups of version 1: one tree per controller, and a group for the attempt in each."""

import contextlib
import os
import signal
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from agent.run.cgroup import NEEDED, OOM_KILLS, ROOT, CgroupsError, counted, cpu_text

OPTIONAL = ("pids", "devices")
REMOVE_TRIES, REMOVE_PAUSE_S = 20, 0.005


@dataclass(frozen=True, slots=True)
class CgroupV1:
    trees: dict[str, Path]

    @property
    def procs(self) -> tuple[Path, ...]:
        return tuple(path / "cgroup.procs" for path in self.trees.values())

    def limit(self, cpus: Collection[int], memory_mib: int) -> None:
        (self.trees["cpuset"] / "cpuset.cpus").write_text(cpu_text(cpus))
        # Below what is in use the kernel refuses; then the old limit stays.
        with contextlib.suppress(OSError):
            limit = str(memory_mib << 20) if memory_mib else "-1"
            (self.trees["memory"] / "memory.limit_in_bytes").write_text(limit)

    def limit_pids(self, most: int) -> None:
        (self.trees["pids"] / "pids.max").write_text(str(most or "max"))

    def deny(self, devices: Collection[int]) -> bool:
        if "devices" not in self.trees:
            return not devices
        for number in devices:
            rule = f"c {os.major(number)}:{os.minor(number)} rwm"
            (self.trees["devices"] / "devices.deny").write_text(rule)
        return True

    def out_of_memory(self) -> bool:
        return counted(self.trees["memory"] / "memory.oom_control", OOM_KILLS) > 0

    def remove(self) -> None:
        for _ in range(REMOVE_TRIES):
            for pid in self._pids():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            left = [path for path in self.trees.values() if not _removed(path)]
            if not left:
                return
            time.sleep(REMOVE_PAUSE_S)

    def _pids(self) -> list[int]:
        with contextlib.suppress(OSError):
            return [int(line) for line in (self.trees["memory"] / "cgroup.procs").open()]
        return []


@dataclass(frozen=True, slots=True)
class CgroupsV1:
    bases: dict[str, Path]

    @property
    def pids(self) -> bool:
        return "pids" in self.bases

    def make(self, name: str) -> CgroupV1:
        group = self.existing(name)
        for path in group.trees.values():
            path.mkdir(exist_ok=True)
        # A new group may use no memory node, and takes no process before it may.
        nodes = (self.bases["cpuset"] / "cpuset.mems").read_text()
        (group.trees["cpuset"] / "cpuset.mems").write_text(nodes)
        return group

    def existing(self, name: str) -> CgroupV1:
        return CgroupV1({each: base / name for each, base in self.bases.items()})


def mounted(own: str, root: Path = ROOT) -> CgroupsV1:
    """Groups below the agent's own; `own` is the content of /proc/self/cgroup."""
    paths = {
        name: path
        for line in own.splitlines()
        for _, names, path in [line.split(":", 2)]
        for name in names.split(",")
    }
    bases = {
        name: root / name / paths[name].lstrip("/")
        for name in (*sorted(NEEDED), *OPTIONAL)
        if name in paths and (root / name / paths[name].lstrip("/")).is_dir()
    }
    if missing := NEEDED - bases.keys():
        raise CgroupsError(f"no {', '.join(sorted(missing))} controller of version 1")
    groups = CgroupsV1(bases)
    try:
        groups.make(f"fairwatt-probe-{os.getpid()}").remove()
    except OSError as error:
        raise CgroupsError(f"cannot make groups in {root}: {error.strerror}") from None
    return groups


def _removed(path: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        try:
            path.rmdir()
        except OSError:
            return False
    return True
