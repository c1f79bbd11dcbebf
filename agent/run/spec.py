"""What a shim is told to do: commands, environment, share, rights and deadlines."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.remember.files import write_whole
from agent.run import apptainer, container, sandbox
from agent.run.apptainer import UserFiles
from agent.run.cgroup import Group
from agent.run.closed_folders import ways
from agent.run.confine import CLONE_NEWIPC, CLONE_NEWNET
from agent.run.environment import (
    job_environment,
    labelled_ranks,
    log_file,
    process_environments,
    ranks_of,
)
from agent.run.host import HostTools
from agent.run.sandbox import JobCommand, SandboxPaths
from agent.run.tenant_users import User
from agent.wire import ContainerTool, DesiredAttempt, Stream


def obstacle(attempt: DesiredAttempt, host: HostTools, user: User | None) -> str:
    """Why this node cannot run the attempt; empty if it can."""
    if attempt.image and host.features.containers is None:
        return f"no container tool on this node for image {attempt.image}"
    alone = attempt.image and not attempt.network
    if alone and host.features.containers is ContainerTool.APPTAINER:
        return "apptainer fetches images from within the attempt, which has no network here"
    namespaces = bool(attempt.image) or host.features.bubblewrap
    if not attempt.network and not namespaces and user is None:
        return "this node cannot keep an attempt from the network: it has no bubblewrap"
    for mount in attempt.mounts:
        if not Path(mount.path).is_dir():
            return f"volume {mount.name}: {mount.path} is not a directory of this node"
        if not namespaces and mount.path != mount.target:
            return f"volume {mount.name} cannot be mounted: this node has no bubblewrap"
    return ""


@dataclass(frozen=True, slots=True)
class SpecWriter:
    attempt: DesiredAttempt
    host: HostTools
    node: str
    name: str
    directory: Path
    places: SandboxPaths
    user: User | None
    shared_memory: Path
    lease: Path

    def spec(self, real_cpus: frozenset[int], group: Group | None) -> dict[str, Any]:
        attempt = self.attempt
        commands = self._commands(real_cpus)
        contained = commands[0].container is not None
        # The tool is the agent's own, and makes its containers the tenant's.
        user = None if contained else self.user
        return {
            "processes": self._processes(commands),
            "wrapped": commands[0].wrapped,
            "kill_argv": self._kill_argv(commands),
            "cwd": "/" if contained else str(self.places.work),
            "uid": user.uid if user else None,
            "gid": user.gid if user else None,
            "unshare": self._unshared(commands[0]),
            "ways": ways(self.places.needed, user.uid) if user else {},
            "cpus": sorted(real_cpus) if self.host.features.affinity else [],
            "cgroup_procs": [str(path) for path in group.procs] if group else [],
            "limits": {} if contained else self._limits(group),
            "grace_s": attempt.grace_s,
            "time_limit_s": attempt.time_limit_s,
            "scratch": [str(self.places.work)],
            "scratch_bytes": attempt.scratch_mib << 20,
            "log_cap_bytes": attempt.log_cap_bytes // len(commands),
            "lease_file": str(self.lease),
            "attempt": str(attempt.attempt_id),
        }

    def _processes(self, commands: list[JobCommand]) -> list[dict[str, Any]]:
        return [
            {
                "argv": command.argv,
                "env": command.env,
                "hidden": command.hidden,
                "rank": rank,
                "logs": [log_file(stream, label) for stream in Stream],
            }
            for command, rank, label in zip(
                commands, ranks_of(self.attempt), labelled_ranks(self.attempt), strict=True
            )
        ]

    def _commands(self, real_cpus: frozenset[int]) -> list[JobCommand]:
        places = self.places
        env = job_environment(
            self.attempt,
            node=self.node,
            work=places.work,
            progress=places.progress,
            checkpoints=places.checkpoints,
            cpus=places.cpus,
            clock=places.clock,
            secrets=places.secrets,
        )
        extras = process_environments(self.attempt)
        return [self._command(env | extra, real_cpus, local) for local, extra in enumerate(extras)]

    def _command(self, env: dict[str, str], real_cpus: frozenset[int], local: int) -> JobCommand:
        attempt, features = self.attempt, self.host.features
        if attempt.image and features.containers is ContainerTool.APPTAINER:
            return apptainer.in_image(
                attempt.image,
                attempt.argv,
                env,
                self.places,
                user_files=UserFiles.written(self.directory, self.user, self.places.work),
                by_driver=self.host.gpu_files.by_driver,
                options=self.host.wall_options,
                tmp_bytes=attempt.scratch_mib << 20,
                network=attempt.network,
            )
        if attempt.image and features.containers:
            env_file = self.directory / f"env.{local}"
            write_whole(env_file, container.env_lines(env), mode=0o600, durable=False)
            return container.contained(
                features.containers,
                attempt.image,
                attempt.argv,
                self.places,
                name=f"{self.name}-{local}",
                user=self.user,
                gpus=attempt.gpu_uuids if self.host.gpu_files.by_driver else (),
                cpus=real_cpus,
                memory_mib=attempt.memory_mib,
                pids=attempt.pids_limit,
                network=attempt.network,
                env_file=env_file,
                id_file=self.directory / f"{container.ID_FILE}.{local}",
                shared_memory=self.shared_memory,
                init=self.host.container_init,
            )
        if features.bubblewrap:
            return sandbox.bubblewrapped(
                attempt.argv,
                env,
                self.places,
                options=self.host.wall_options,
                tmp_bytes=attempt.scratch_mib << 20,
                network=attempt.network,
            )
        # Without a /tmp of its own it has one that goes with the working directory.
        return JobCommand(attempt.argv, {"TMPDIR": str(self.places.work)} | env)

    def _kill_argv(self, commands: list[JobCommand]) -> list[str]:
        names = [command.container for command in commands if command.container]
        tool = self.host.engine(self.attempt)
        return [tool, "kill", *names] if tool and names else []

    def _unshared(self, command: JobCommand) -> int:
        """What root takes from an attempt that no tool puts into namespaces."""
        if command.wrapped or command.container or self.user is None or os.geteuid() != 0:
            return 0
        return CLONE_NEWIPC | (0 if self.attempt.network else CLONE_NEWNET)

    def _limits(self, group: Group | None) -> dict[str, int]:
        attempt = self.attempt
        limits = {"RLIMIT_CORE": 0}
        if attempt.memory_mib and group is None:
            # Not RLIMIT_AS: CUDA reserves far more addresses than it uses.
            limits["RLIMIT_DATA"] = attempt.memory_mib << 20
        counted = group is not None and self.host.cgroups is not None and self.host.cgroups.pids
        if attempt.pids_limit and not counted and self.user is not None:
            limits["RLIMIT_NPROC"] = attempt.pids_limit
        if attempt.scratch_mib:
            limits["RLIMIT_FSIZE"] = attempt.scratch_mib << 20
        return limits
