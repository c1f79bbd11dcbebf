"""Control groups (version 2) for attempts, where the host lets the agent make them."""

import contextlib
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
NEEDED = frozenset({"cpuset", "memory"})


class CgroupsError(Exception):
    """Why attempts cannot have groups of their own on this host."""


@dataclass(frozen=True, slots=True)
class Cgroup:
    path: Path

    @property
    def procs(self) -> Path:
        return self.path / "cgroup.procs"

    def limit(self, cpus: Collection[int], memory_mib: int) -> None:
        """Holds at once for what runs in the group, and for what it starts later."""
        (self.path / "cpuset.cpus").write_text(",".join(map(str, sorted(cpus))))
        self._bound(memory_mib << 20)

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
        """Kill what is left and take the group away."""
        with contextlib.suppress(OSError):
            (self.path / "cgroup.kill").write_text("1")
        with contextlib.suppress(OSError):
            self.path.rmdir()


class Cgroups:
    def __init__(self, base: Path) -> None:
        self._base = base

    def make(self, name: str) -> Cgroup:
        group = self.existing(name)
        group.path.mkdir(exist_ok=True)
        return group

    def existing(self, name: str) -> Cgroup:
        return Cgroup(self._base / name)


def delegated(own: str, root: Path = ROOT) -> Cgroups:
    """Make the agent's own group a parent of groups; `own` is the content of /proc/self/cgroup."""
    lines = [line.split(":", 2) for line in own.splitlines()]
    paths = [path for hierarchy, _, path in lines if hierarchy == "0"]
    if not (root / "cgroup.controllers").exists() or not paths:
        raise CgroupsError("the host does not use cgroup version 2 alone")
    base = root / paths[0].lstrip("/")
    try:
        missing = NEEDED - set((base / "cgroup.controllers").read_text().split())
        if missing:
            raise CgroupsError(f"no {', '.join(sorted(missing))} controller in {base}")
        _make_parent(base)
    except OSError as error:
        raise CgroupsError(f"cannot delegate {base}: {error.strerror}") from None
    return Cgroups(base)


def _make_parent(base: Path) -> None:
    # A group with processes of its own cannot hand controllers down: the agent moves out first.
    leaf = base / "fairwatt-agent"
    leaf.mkdir(exist_ok=True)
    (leaf / "cgroup.procs").write_text(str(os.getpid()))
    (base / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in sorted(NEEDED)))
