"""Starting an attempt: lay out its directory, write down what to do, start the shim."""

import json
import logging
import os
import pwd
import subprocess
import sys
from dataclasses import dataclass

from agent.remember.files import write_whole
from agent.remember.state_dir import StateDir
from agent.run import sandbox, shim
from agent.run.attempt_run import AttemptRun
from agent.run.cpus import real
from agent.run.environment import job_environment, process_environments
from agent.run.host import HostTools
from agent.run.sandbox import JobCommand, Places
from agent.wire import DesiredAttempt

log = logging.getLogger("fairwatt.agent")

TOOL_TIMEOUT_S = 10.0


class UnsupportedError(Exception):
    """This node cannot run the attempt, and why."""


class NoSuchUserError(Exception):
    """The user that attempts should run as is not on this host."""


@dataclass(frozen=True, slots=True)
class User:
    uid: int
    gid: int

    @classmethod
    def named(cls, name: str) -> "User":
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            raise NoSuchUserError(f"no user {name!r} on this host") from None
        return cls(entry.pw_uid, entry.pw_gid)


@dataclass(frozen=True, slots=True)
class Launcher:
    state_dir: StateDir
    host: HostTools
    node: str
    install_id: str
    user: User | None = None

    def check(self, attempt: DesiredAttempt) -> None:
        if attempt.image and self.host.features.containers is None:
            raise UnsupportedError(f"no container tool on this node for image {attempt.image}")

    def launch(self, run: AttemptRun) -> None:
        """Start a shim; if one was started before a crash too, only one can take the claim."""
        places, real_cpus = self._lay_out(run), self._real_cpus(run)
        spec = self._spec(run.attempt, places, real_cpus)
        write_whole(run.directory / "spec.json", json.dumps(spec).encode(), mode=0o600)
        with (run.directory / "shim.log").open("ab") as log:
            run.child = subprocess.Popen(  # noqa: S603 - our own shim, by its path
                [sys.executable, "-I", "-S", shim.__file__, str(run.directory)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd="/",
            )
        run.pinned = real_cpus

    def _lay_out(self, run: AttemptRun) -> Places:
        places = Places(
            state=self.state_dir.state,
            work=run.directory / "work",
            progress=run.directory / "progress.jsonl",
            checkpoints=self.state_dir.checkpoint(run.attempt.checkpoint_key),
            cpus=run.directory / "cpus",
            clock=run.directory / "clock",
        )
        run.directory.mkdir(mode=0o711, exist_ok=True)
        places.work.mkdir(exist_ok=True)
        places.checkpoints.mkdir(exist_ok=True)
        places.progress.touch()
        run.write_cpus()
        run.write_clock(run.attempt.clock_mhz)
        for path in (places.cpus, places.clock):
            path.chmod(0o644)
        if self.user is not None:
            for path in (places.work, places.progress, places.checkpoints):
                os.chown(path, self.user.uid, self.user.gid)
        return places

    def _spec(
        self, attempt: DesiredAttempt, places: Places, real_cpus: frozenset[int]
    ) -> dict[str, object]:
        env = job_environment(
            attempt,
            node=self.node,
            work=places.work,
            progress=places.progress,
            checkpoints=places.checkpoints,
            cpus=places.cpus,
            clock=places.clock,
        )
        extras = process_environments(attempt.gang)
        names = sandbox.container_env(env) | frozenset(extras[0])
        commands = [
            self._command(attempt, places, real_cpus, names, local) for local in range(len(extras))
        ]
        cgroup_procs = self._cgroup(attempt, real_cpus)
        contained = commands[0].container is not None
        limited = attempt.memory_mib and not cgroup_procs and not contained
        user = None if contained else self.user
        if contained:
            # The tool needs the agent's own home and runtime directory to find its containers.
            env = {**os.environ} | {name: env[name] for name in names if name in env}
        return {
            "processes": [
                {"argv": command.argv, "env": env | extra}
                for command, extra in zip(commands, extras, strict=True)
            ],
            "wrapped": commands[0].wrapped,
            "kill_argv": self._kill_argv(commands),
            "cwd": str(places.work),
            "uid": user.uid if user else None,
            "gid": user.gid if user else None,
            "cpus": sorted(real_cpus) if self.host.features.affinity else [],
            "cgroup_procs": cgroup_procs,
            "data_limit_bytes": attempt.memory_mib << 20 if limited else 0,
            "grace_s": attempt.grace_s,
            "log_cap_bytes": attempt.log_cap_bytes,
            "lease_file": str(self.state_dir.lease),
        }

    def _command(
        self,
        attempt: DesiredAttempt,
        places: Places,
        real_cpus: frozenset[int],
        env_names: frozenset[str],
        local: int,
    ) -> JobCommand:
        features = self.host.features
        if attempt.image and features.containers:
            return sandbox.contained(
                features.containers,
                attempt.image,
                attempt.argv,
                places,
                name=self._container(attempt, local),
                gpu_uuids=attempt.gpu_uuids,
                cpus=real_cpus,
                memory_mib=attempt.memory_mib,
                env_names=env_names,
            )
        if features.bubblewrap:
            return sandbox.bubblewrapped(attempt.argv, places)
        return JobCommand(attempt.argv)

    def _kill_argv(self, commands: list[JobCommand]) -> list[str]:
        names = [command.container for command in commands if command.container]
        tool = self.host.features.containers
        return [tool, "kill", *names] if tool and names else []

    def _cgroup(self, attempt: DesiredAttempt, real_cpus: frozenset[int]) -> str:
        if self.host.cgroups is None:
            return ""
        group = self.host.cgroups.make(self.unique_name(attempt))
        group.limit(real_cpus, attempt.memory_mib)
        return str(group.procs)

    def retune(self, run: AttemptRun) -> None:
        """Bring a running attempt to its CPUs and memory; it is not stopped for it."""
        attempt, tool = run.attempt, self.host.features.containers
        real_cpus = self._real_cpus(run)
        run.write_cpus()
        if attempt.image and tool:
            processes = attempt.gang.local_world_size if attempt.gang else 1
            names = [self._container(attempt, local) for local in range(processes)]
            self._run_tool(sandbox.changed(tool, names, real_cpus, attempt.memory_mib))
        elif self.host.cgroups is None:
            run.allow_memory()
        else:
            group = self.host.cgroups.existing(self.unique_name(attempt))
            try:
                group.limit(real_cpus, attempt.memory_mib)
            except OSError as error:
                log.warning("attempt %s keeps its share: %s", attempt.attempt_id, error)
        self.pin(run)

    def pin(self, run: AttemptRun) -> None:
        """In a group too: a thread keeps to its own affinity however far the group's CPUs grow."""
        if self.host.features.affinity:
            run.pin(self._real_cpus(run))

    def _real_cpus(self, run: AttemptRun) -> frozenset[int]:
        return real(run.cpus, self.host.cpus)

    def _run_tool(self, argv: tuple[str, ...]) -> None:
        try:
            done = subprocess.run(  # noqa: S603 - the container tool, with names of our own
                argv, capture_output=True, check=False, timeout=TOOL_TIMEOUT_S
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            log.warning("%s: %s", argv[:2], error)
            return
        if done.returncode != 0:
            log.warning("%s: %s", argv[:2], done.stderr.decode(errors="replace").strip()[-200:])

    def _container(self, attempt: DesiredAttempt, local: int) -> str:
        return f"{self.unique_name(attempt)}-{local}"

    def clean_up(self, run: AttemptRun) -> None:
        if self.host.cgroups is not None:
            self.host.cgroups.existing(self.unique_name(run.attempt)).remove()

    def unique_name(self, attempt: DesiredAttempt) -> str:
        return f"fairwatt-{self.install_id[:8]}-{attempt.attempt_id}-{attempt.fence}"
