"""Ways to run a command: as it is, or in bubblewrap."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from agent.run import mount_points
from agent.wire import Mount

# Empty inside, and the attempt's own: others write there outside.
OWN = ("/tmp", "/var/tmp", "/run")  # noqa: S108
# What of /run programs need: names of hosts, and the driver's daemon.
KEPT = ("/run/systemd/resolve", "/run/nvidia-persistenced")
NOT_FOUND, NO_FILE = "bwrap: execvp ", "No such file"
VISIBLE = (
    "inside the wall the host's files are visible, but {own} and the agent's own directory are "
    "empty; a program that lies there has to come with the working directory or a mount, "
    "or the node's operator has to show its folder"
)


@dataclass(frozen=True, slots=True)
class SandboxPaths:
    """What of the node's state an attempt may write to; all else of it stays hidden."""

    state: Path
    work: Path
    progress: Path
    checkpoints: Path
    cpus: Path  # read only, as the next two
    clock: Path
    secrets: Path
    mounts: tuple[Mount, ...] = ()
    devices: tuple[str, ...] = ()
    shown: tuple[Path, ...] = ()  # read only, of the host, wherever they lie

    @property
    def writable(self) -> tuple[str, ...]:
        return tuple(map(str, (self.work, self.progress, self.checkpoints)))

    @property
    def readable(self) -> tuple[str, ...]:
        return tuple(map(str, (self.cpus, self.clock, self.secrets)))

    @property
    def needed(self) -> tuple[Path, ...]:
        """What an attempt must get to, whatever folders lie on the way."""
        volumes = (mount.path for mount in self.mounts)
        return (*map(Path, (*self.writable, *self.readable, *volumes)), *self.shown)

    @property
    def uncovered(self) -> tuple[str, ...]:
        """Of those shown, what a folder of the attempt's own would hide."""
        return tuple(str(path) for path in self.shown if _in_own(path))


@dataclass(frozen=True, slots=True)
class JobCommand:
    argv: tuple[str, ...]
    env: Mapping[str, str]
    hidden: tuple[str, ...] = ()  # arguments that no process list shows
    wrapped: bool = False  # the first process is bubblewrap's and passes no signal on
    container: str | None = None


def bubblewrapped(
    argv: Sequence[str],
    env: Mapping[str, str],
    places: SandboxPaths,
    *,
    options: Sequence[str] = (),
    tmp_bytes: int = 0,
    network: bool = True,
    replaced: Mapping[str, Path] = MappingProxyType({}),
) -> JobCommand:
    """The host read-only; devices, /tmp, process ids and ipc its own; the agent's state hidden.

    The environment comes by a file, as arguments: the tool itself must not follow a tenant's
    LD_PRELOAD, and nobody shall read the values in its command line. `replaced` names files of the
    host that are others inside.
    """
    size = ("--size", str(tmp_bytes)) if tmp_bytes else ()
    makes_room, closes_room = mount_points.opened(places.mounts, OWN)
    hidden = (
        *("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", *options),
        *(() if network else ("--unshare-net",)),
        *("--ro-bind", "/", "/", *makes_room, "--dev", "/dev", "--proc", "/proc"),
        *(part for path in OWN for part in (*size, "--tmpfs", path)),
        *_each("--ro-bind-try", (*KEPT, *places.uncovered)),
        *("--tmpfs", str(places.state)),
        *_each("--dev-bind-try", places.devices),
        *_each("--bind", places.writable),
        *_each("--ro-bind", places.readable),
        *_mounts(places.mounts),
        *(part for to, path in replaced.items() for part in ("--ro-bind", str(path), to)),
        *closes_room,
        *("--remount-ro", str(places.state)),
        *("--chdir", str(places.work), "--clearenv"),
        *(part for name, value in env.items() for part in ("--setenv", name, value)),
    )
    return JobCommand(("bwrap", "--args", "--", *argv), {}, hidden, wrapped=True)


def explained(said: str, argv: Sequence[str]) -> str:
    """Why a program, or a file named to it, was not found, for who does not see the wall.

    Whether the host has such a file is not looked up: that is no tenant's business.
    """
    named = any(argument in said for argument in argv if _in_own(Path(argument)))
    if not (named and NO_FILE in said) and not said.startswith(NOT_FOUND):
        return ""
    return f"{said.removeprefix(NOT_FOUND)}: {VISIBLE.format(own=', '.join(OWN))}"


def _in_own(path: Path) -> bool:
    return any(path.is_relative_to(own) for own in OWN)


def _each(option: str, paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(part for path in paths for part in (option, path, path))


def _mounts(mounts: Iterable[Mount]) -> tuple[str, ...]:
    return tuple(
        part
        for mount in mounts
        for part in ("--ro-bind" if mount.read_only else "--bind", mount.path, mount.target)
    )
