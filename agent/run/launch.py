"""Starting an attempt: lay out its directory, write down what to do, start the shim."""

import json
import logging
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from agent.files.artifacts import keep_declared
from agent.remember.disk import write_in_place
from agent.remember.files import write_whole
from agent.remember.state_dir import StateDir
from agent.run import container
from agent.run.attempt_run import KILL_FILE, AttemptRun
from agent.run.cgroup import Group
from agent.run.container import ValueNotPassableError
from agent.run.cpus import real
from agent.run.environment import ranks_of
from agent.run.host import HostTools
from agent.run.kernel_log import ended_for_memory
from agent.run.leftovers import remove_leftovers
from agent.run.sandbox import SandboxPaths
from agent.run.shim import EXIT_BYTES, EXIT_FILE, SPEC_FILE
from agent.run.shims import Shims
from agent.run.spec import SpecWriter, obstacle
from agent.run.tenant_users import NoSuchUserError, TenantUsers, User, give
from agent.wire import DesiredAttempt, SecretValue

log = logging.getLogger("fairwatt.agent")

TOOL_TIMEOUT_S = 10.0
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - a directory of the attempt's own in it


class UnsupportedError(Exception):
    """This node cannot run the attempt, and why."""


@dataclass(frozen=True, slots=True)
class Launcher:
    state_dir: StateDir
    host: HostTools
    node: str
    install_id: str
    users: TenantUsers
    shims: Shims = field(default_factory=Shims)

    def check(self, attempt: DesiredAttempt) -> None:
        try:
            user = self.users.of(attempt.tenant_id)
            if self.host.engine(attempt):
                container.env_lines(attempt.env)
        except (NoSuchUserError, ValueNotPassableError) as why:
            raise UnsupportedError(str(why)) from None
        if why_not := obstacle(attempt, self.host, user):
            raise UnsupportedError(why_not)

    def launch(self, run: AttemptRun) -> None:
        """Start a shim; if one was started before a crash too, only one can take the claim."""
        attempt, real_cpus = run.attempt, self._real_cpus(run)
        user = self.users.of(attempt.tenant_id)
        writer = SpecWriter(
            attempt=attempt,
            host=self.host,
            node=self.node,
            name=self.unique_name(attempt),
            directory=run.directory,
            places=self._lay_out(run, user),
            user=user,
            shared_memory=self._shared_memory(attempt, user),
            lease=self.state_dir.lease,
        )
        spec = writer.spec(real_cpus, self._cgroup(attempt, real_cpus))
        write_whole(
            run.directory / KILL_FILE, json.dumps(spec["kill_argv"]).encode(), durable=False
        )
        # Not durable: after a reboot it is not started again.
        document = json.dumps(spec).encode()
        write_whole(run.directory / SPEC_FILE, document, mode=0o600, durable=False)
        run.child = self.shims.start(run.directory)
        run.pulls = self.host.engine(attempt) is not None
        run.pinned = real_cpus

    def _lay_out(self, run: AttemptRun, user: User | None) -> SandboxPaths:
        attempt, directory = run.attempt, run.directory
        places = SandboxPaths(
            state=self.state_dir.state,
            work=run.work,
            progress=directory / "progress.jsonl",
            checkpoints=self.state_dir.checkpoint(attempt.checkpoint_key),
            cpus=directory / "cpus",
            clock=directory / "clock",
            secrets=directory / "secrets",
            mounts=attempt.mounts,
            devices=self.host.gpu_files.of(attempt.gpu_uuids),
            shown=self.host.shown,
        )
        directory.mkdir(mode=0o711, exist_ok=True)
        for own in (places.work, places.checkpoints, places.secrets):
            own.mkdir(mode=0o700, exist_ok=True)
            own.chmod(0o700)
        places.progress.touch(mode=0o600)
        # Room for the exit code is taken now, when an attempt can still be refused.
        write_in_place(directory / EXIT_FILE, b"", EXIT_BYTES, mode=0o600)
        run.write_cpus()
        run.write_clock(attempt.clock_mhz)
        for path in (places.cpus, places.clock):
            path.chmod(0o644)
        keep_declared(directory, attempt)
        given = _write_secrets(places.secrets, attempt.secrets)
        for path in (places.work, places.progress, places.checkpoints, places.secrets, *given):
            give(path, user)
        return places

    def _shared_memory(self, attempt: DesiredAttempt, user: User | None) -> Path:
        """Of its containers; those are several where it has several processes."""
        path = SHARED_MEMORY / self.unique_name(attempt)
        if self.host.engine(attempt):
            path.mkdir(mode=0o700, exist_ok=True)
            give(path, user)
        return path

    def _cgroup(self, attempt: DesiredAttempt, real_cpus: frozenset[int]) -> Group | None:
        """A container's is made by its tool."""
        if self.host.cgroups is None or self.host.engine(attempt):
            return None
        group = self.host.cgroups.make(self.unique_name(attempt))
        group.limit(real_cpus, attempt.memory_mib)
        if self.host.cgroups.pids:
            group.limit_pids(attempt.pids_limit)
        group.deny(self.host.gpu_files.numbers_but(attempt.gpu_uuids))
        return group

    def retune(self, run: AttemptRun) -> None:
        """Bring a running attempt to its CPUs and memory; it is not stopped for it."""
        attempt, tool = run.attempt, self.host.engine(run.attempt)
        real_cpus = self._real_cpus(run)
        run.write_cpus()
        if tool:
            names = [f"{self.unique_name(attempt)}-{local}" for local, _ in _numbered(attempt)]
            self._run_tool(container.changed(tool, names, real_cpus, attempt.memory_mib))
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
                argv,
                capture_output=True,
                check=False,
                timeout=TOOL_TIMEOUT_S,
                env=container.tool_environment(),
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            log.warning("%s: %s", argv[:2], error)
            return
        if done.returncode != 0:
            log.warning("%s: %s", argv[:2], done.stderr.decode(errors="replace").strip()[-200:])

    def out_of_memory(self, run: AttemptRun) -> bool:
        """Asked before the group is gone."""
        if self.host.engine(run.attempt):
            return ended_for_memory(container.ids(run.directory))
        if self.host.cgroups is None:
            return False
        return self.host.cgroups.existing(self.unique_name(run.attempt)).out_of_memory()

    def clean_up(self, run: AttemptRun) -> None:
        name = self.unique_name(run.attempt)
        if self.host.cgroups is not None and not self.host.engine(run.attempt):
            self.host.cgroups.existing(name).remove()
        for left in (run.directory / "secrets", SHARED_MEMORY / name):
            shutil.rmtree(left, ignore_errors=True)
        for path in run.directory.glob("env.*"):
            path.unlink()

    def clean_up_tenant(self, attempt: DesiredAttempt) -> None:
        """Only of a uid that is the tenant's alone."""
        if self.users.uids is not None and attempt.tenant_id is not None:
            remove_leftovers(self.users.uids.of(attempt.tenant_id).uid)

    def unique_name(self, attempt: DesiredAttempt) -> str:
        return f"fairwatt-{self.install_id[:8]}-{attempt.attempt_id}-{attempt.fence}"


def _numbered(attempt: DesiredAttempt) -> list[tuple[int, int]]:
    return list(enumerate(ranks_of(attempt)))


def _write_secrets(directory: Path, secrets: tuple[SecretValue, ...]) -> list[Path]:
    written = []
    for each in secrets:
        if each.file is not None:
            write_whole(directory / each.file, each.value.encode(), mode=0o400, durable=False)
            written.append(directory / each.file)
    return written
