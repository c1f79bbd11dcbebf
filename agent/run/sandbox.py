"""Ways to run a command: as it is, in bubblewrap, or in a container."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.wire import ContainerTool


@dataclass(frozen=True, slots=True)
class Places:
    """What of the node's state an attempt may write to; all else of it stays hidden."""

    state: Path
    work: Path
    progress: Path
    checkpoints: Path
    cpus: Path  # read only, as the next
    clock: Path


@dataclass(frozen=True, slots=True)
class JobCommand:
    argv: tuple[str, ...]
    wrapped: bool = False  # the first process is bubblewrap's and passes no signal on
    container: str | None = None


def bubblewrapped(argv: Sequence[str], places: Places) -> JobCommand:
    """The host read-only, /tmp and process ids its own, the agent's state out of sight."""
    writable = (places.work, places.progress, places.checkpoints)
    binds = [part for path in writable for part in ("--bind", str(path), str(path))]
    return JobCommand(
        (
            *("bwrap", "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc"),
            *("--tmpfs", "/tmp", "--tmpfs", str(places.state), *binds),  # noqa: S108
            *("--ro-bind", str(places.cpus), str(places.cpus)),
            *("--ro-bind", str(places.clock), str(places.clock)),
            *("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent"),
            *("--chdir", str(places.work), "--", *argv),
        ),
        wrapped=True,
    )


def contained(
    tool: ContainerTool,
    image: str,
    argv: Sequence[str],
    places: Places,
    *,
    name: str,
    gpu_uuids: Sequence[str],
    cpus: Collection[int],
    memory_mib: int,
    env_names: Collection[str],
) -> JobCommand:
    writable = (places.work, places.progress, places.checkpoints)
    volumes = [part for path in writable for part in ("--volume", f"{path}:{path}")]
    told = (places.cpus, places.clock)
    volumes += [part for path in told for part in ("--volume", f"{path}:{path}:ro")]
    # Values come from the tool's own environment, so they do not show in the process list.
    env = [part for key in sorted(env_names) for part in ("--env", key)]
    return JobCommand(
        (
            *(tool.value, "run", "--rm", "--init", "--name", name, "--network", "host"),
            *("--ipc", "host", "--workdir", str(places.work), *volumes, *env),
            *_share(cpus, memory_mib),
            *_gpus(tool, gpu_uuids),
            *("--", image, *argv),
        ),
        container=name,
    )


def changed(
    tool: ContainerTool, names: Sequence[str], cpus: Collection[int], memory_mib: int
) -> tuple[str, ...]:
    """What gives running containers another share."""
    return (tool.value, "update", *_share(cpus, memory_mib), *names)


def container_env(env: Mapping[str, str]) -> frozenset[str]:
    """The image brings its own PATH and libraries."""
    return frozenset(env) - {"PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "HOME"}


def _share(cpus: Collection[int], memory_mib: int) -> tuple[str, ...]:
    memory = ("--memory", f"{memory_mib}m") if memory_mib else ()
    pinned = ("--cpuset-cpus", ",".join(map(str, sorted(cpus)))) if cpus else ()
    return (*memory, *pinned)


def _gpus(tool: ContainerTool, uuids: Sequence[str]) -> tuple[str, ...]:
    if tool is ContainerTool.DOCKER:
        return ("--gpus", f'"device={",".join(uuids)}"')
    return tuple(part for uuid in uuids for part in ("--device", f"nvidia.com/gpu={uuid}"))
