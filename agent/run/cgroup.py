"""Control groups for attempts, where the host lets the agent make them: version 2, else 1."""

import contextlib
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

ROOT = Path("/sys/fs/cgroup")
NEEDED = frozenset({"cpuset", "memory"})
USED_IF_THERE = frozenset({"pids"})
OOM_KILLS = "oom_kill"


class CgroupsError(Exception):
    """Why attempts cannot have groups of their own on this host."""


class Group(Protocol):
    @property
    def procs(self) -> tuple[Path, ...]:
        """Where a process writes its id to enter."""

    def limit(self, cpus: Collection[int], memory_mib: int) -> None:
        """Holds at once for what runs in the group, and for what it starts later."""

    def limit_pids(self, most: int) -> None: ...

    def deny(self, devices: Collection[int]) -> bool:
        """Close device files by their numbers; whether that can be done."""

    def out_of_memory(self) -> bool:
        """Whether the kernel has ended a process for the limit."""

    def remove(self) -> None:
        """Kill what is left and take the group away."""


class Cgroups(Protocol):
    @property
    def pids(self) -> bool:
        """Whether processes can be counted."""

    def make(self, name: str) -> Group: ...

    def existing(self, name: str) -> Group: ...


@dataclass(frozen=True, slots=True)
class Cgroup:
    path: Path

    @property
    def procs(self) -> tuple[Path, ...]:
        return (self.path / "cgroup.procs",)

    def limit(self, cpus: Collection[int], memory_mib: int) -> None:
        (self.path / "cpuset.cpus").write_text(cpu_text(cpus))
        self._bound(memory_mib << 20)

    def limit_pids(self, most: int) -> None:
        (self.path / "pids.max").write_text(str(most or "max"))

    def deny(self, devices: Collection[int]) -> bool:
        """Version 2 has no file for it."""
        return not devices

    def out_of_memory(self) -> bool:
        return counted(self.path / "memory.events", OOM_KILLS) > 0

    def _bound(self, limit: int) -> None:
        """A lower limit takes cached files first, and kills nobody: what is in use stays."""
        most = self.path / "memory.max"
        if not limit:
            most.write_text("max")
            return
        if self._in_use() > limit:
            high = self.path / "memory.high"
            high.write_text(str(limit))  # the kernel reclaims before this returns
            high.write_text("max")
        most.write_text(str(max(limit, self._in_use())))

    def _in_use(self) -> int:
        try:
            return int((self.path / "memory.current").read_text())
        except FileNotFoundError:
            return 0

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            (self.path / "cgroup.kill").write_text("1")
        with contextlib.suppress(OSError):
            self.path.rmdir()


@dataclass(frozen=True, slots=True)
class CgroupsV2:
    base: Path
    pids: bool = False

    def make(self, name: str) -> Cgroup:
        group = self.existing(name)
        group.path.mkdir(exist_ok=True)
        return group

    def existing(self, name: str) -> Cgroup:
        return Cgroup(self.base / name)


def delegated(own: str, root: Path = ROOT) -> CgroupsV2:
    """Make the agent's own group a parent of groups; `own` is the content of /proc/self/cgroup."""
    lines = [line.split(":", 2) for line in own.splitlines()]
    paths = [path for hierarchy, _, path in lines if hierarchy == "0"]
    if not (root / "cgroup.controllers").exists() or not paths:
        raise CgroupsError("the host does not use cgroup version 2 alone")
    base = root / paths[0].lstrip("/")
    try:
        offered = set((base / "cgroup.controllers").read_text().split())
        if missing := NEEDED - offered:
            raise CgroupsError(f"no {', '.join(sorted(missing))} controller in {base}")
        _make_parent(base, offered & (NEEDED | USED_IF_THERE))
    except OSError as error:
        raise CgroupsError(f"cannot delegate {base}: {error.strerror}") from None
    return CgroupsV2(base, pids="pids" in offered)


def _make_parent(base: Path, controllers: Collection[str]) -> None:
    # A group with processes of its own cannot hand controllers down: the agent moves out first.
    leaf = base / "fairwatt-agent"
    leaf.mkdir(exist_ok=True)
    (leaf / "cgroup.procs").write_text(str(os.getpid()))
    (base / "cgroup.subtree_control").write_text(
        " ".join(f"+{name}" for name in sorted(controllers))
    )


def cpu_text(cpus: Collection[int]) -> str:
    return ",".join(map(str, sorted(cpus)))


def counted(path: Path, name: str) -> int:
    """A line `name number` of a file of the kernel's."""
    with contextlib.suppress(OSError):
        for line in path.read_text().splitlines():
            key, _, number = line.partition(" ")
            if key == name:
                return int(number)
    return 0
