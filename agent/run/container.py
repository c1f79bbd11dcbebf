"""Running a command in a container: whose, with which files, devices and limits."""

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from agent.run.sandbox import JobCommand, SandboxPaths
from agent.run.tenant_users import User
from agent.wire import ContainerTool

# What the tool itself may know of the agent's environment: where its images and sockets are.
TOOL_ENV = (
    *("PATH", "HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "TMPDIR"),
    *("CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF", "DOCKER_HOST", "DOCKER_CONFIG"),
)
# The image brings its own.
LEFT_TO_THE_IMAGE = frozenset({"PATH", "LD_LIBRARY_PATH", "CUDA_HOME"})

# They run as the agent and make containers the tenant's own; apptainer runs as the tenant.
ENGINES = frozenset({ContainerTool.PODMAN, ContainerTool.DOCKER})
# Of an attempt's directory, one for each of its containers; the tool writes it.
ID_FILE = "container"


class ValueNotPassableError(Exception):
    """A variable that no file of the tool's can hold."""


def contained(
    tool: ContainerTool,
    image: str,
    argv: Sequence[str],
    places: SandboxPaths,
    *,
    name: str,
    user: User | None,
    gpus: Sequence[str],
    cpus: Collection[int],
    memory_mib: int,
    pids: int,
    network: bool,
    env_file: Path,
    id_file: Path,
    shared_memory: Path,
    init: bool,
) -> JobCommand:
    volumes = [part for path in places.writable for part in ("--volume", f"{path}:{path}")]
    volumes += [part for path in places.readable for part in ("--volume", f"{path}:{path}:ro")]
    for mount in places.mounts:
        volumes += ("--volume", f"{mount.path}:{mount.target}{':ro' if mount.read_only else ''}")
    # Processes of one attempt meet in shared memory, and nobody else does.
    volumes += ("--volume", f"{shared_memory}:/dev/shm")
    return JobCommand(
        (
            *(tool.value, "run", "--rm", *(("--init",) if init else ()), "--name", name),
            *("--network", "host" if network else "none", "--ipc", "private"),
            *("--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--pull", "missing"),
            *(("--user", f"{user.uid}:{user.gid}") if user else ()),
            *(("--pids-limit", str(pids)) if pids else ()),
            *("--workdir", str(places.work), *volumes, "--env-file", str(env_file)),
            *("--cidfile", str(id_file)),
            *share(cpus, memory_mib),
            *_gpus(tool, gpus),
            *(part for path in places.devices for part in ("--device", path)),
            *("--", image, *argv),
        ),
        tool_environment(),
        container=name,
    )


def tool_environment(base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Nothing of a tenant's: its LD_PRELOAD would run as the agent's user."""
    return {name: base[name] for name in TOOL_ENV if name in base}


def env_lines(env: Mapping[str, str]) -> bytes:
    """As the tools read it: a line each, taken as it is."""
    passed = {name: value for name, value in env.items() if name not in LEFT_TO_THE_IMAGE}
    for name, value in passed.items():
        if "\n" in value or "\r" in value:
            raise ValueNotPassableError(f"{name} has a line break: a container cannot be given it")
    return "".join(f"{name}={value}\n" for name, value in passed.items()).encode()


def ids(directory: Path) -> list[str]:
    """Of the containers that an attempt had."""
    return [found for path in directory.glob(f"{ID_FILE}.*") if (found := path.read_text().strip())]


def changed(
    tool: ContainerTool, names: Sequence[str], cpus: Collection[int], memory_mib: int
) -> tuple[str, ...]:
    """What gives running containers another share."""
    return (tool.value, "update", *share(cpus, memory_mib), *names)


def share(cpus: Collection[int], memory_mib: int) -> tuple[str, ...]:
    memory = ("--memory", f"{memory_mib}m") if memory_mib else ()
    pinned = ("--cpuset-cpus", ",".join(map(str, sorted(cpus)))) if cpus else ()
    return (*memory, *pinned)


def _gpus(tool: ContainerTool, uuids: Sequence[str]) -> tuple[str, ...]:
    if tool is ContainerTool.DOCKER and uuids:
        return ("--gpus", f'"device={",".join(uuids)}"')
    return tuple(part for uuid in uuids for part in ("--device", f"nvidia.com/gpu={uuid}"))
