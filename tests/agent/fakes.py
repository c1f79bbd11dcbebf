"""Stand-ins for what the agent's parts are put together with: a clock, GPUs, shims, a launcher."""

import json
import signal
from pathlib import Path
from typing import Any, cast

import pytest

from agent.assemble import supervise
from agent.devices.base import ControlRefusedError, DeviceLostError, Reading
from agent.files.artifacts import Artifacts
from agent.files.file_tasks import FileTasks
from agent.files.preparation import UnpreparedError, WorkdirPreparer
from agent.measure.gpu_controls import GpuControls
from agent.measure.sampler import GpuSampler
from agent.remember.attempt_store import AttemptStore
from agent.remember.disk import DiskSpace
from agent.remember.journal import Journal
from agent.remember.lease import RunLease
from agent.remember.state_dir import StateDir
from agent.run import attempt_run, processes
from agent.run.attempt_gpus import AttemptGpus
from agent.run.attempt_run import AttemptRun
from agent.run.attempts import NodeAttempts
from agent.run.cpus import CpuPool
from agent.run.launch import Launcher, UnsupportedError
from agent.run.processes import Process
from agent.run.shims import Shims
from agent.run.supervisor import AttemptSupervisor
from agent.run.tenant_users import TenantUsers
from agent.talk.outgoing_reports import attempt_reports
from agent.wire import AttemptRef, AttemptReport, Desired, DesiredAttempt, GpuInventory

BOOT = "boot"
RUN_LEASE_S, NODE_LEASE_S = 120.0, 10.0


def attempt(attempt_id: int = 7, fence: int = 70, **changes: Any) -> DesiredAttempt:
    facts: dict[str, Any] = {
        "job_id": 3,
        "argv": ("true",),
        "gpu_uuids": ("GPU-a",),
        "cpus": 1,
        "memory_mib": 0,
        "checkpoint_key": "job-3",
        "grace_s": 30.0,
    }
    return DesiredAttempt(attempt_id, fence, **(facts | changes))


ONE = attempt()


class FakeClock:
    def __init__(self, now_s: float = 100.0) -> None:
        self.now_s = now_s

    def __call__(self) -> float:
        return self.now_s


class FakeGpu:
    """A device that says what a test sets, and remembers what was asked of it."""

    def __init__(self, uuid: str = "GPU-a", numa_node: int | None = None) -> None:
        self.inventory = GpuInventory(
            uuid=uuid, index=0, type_name="T", memory_mib=1, max_w=400, numa_node=numa_node
        )
        self.energy_mj: int | None = 0
        self.power_mw = 100_000
        self.lost = False
        self.refuses_caps = False
        self.pids = frozenset[int]()
        self.clock_mhz: int | None = None
        self.cap_w: int | None = None
        self.occupant: Process | None = None
        self.files: tuple[str, ...] = ()

    def read(self) -> Reading:
        if self.lost:
            raise DeviceLostError("gone")
        return Reading(self.power_mw, self.energy_mj)

    def processes(self) -> frozenset[int]:
        if self.lost:
            raise DeviceLostError("gone")
        return self.pids

    def lock_clock(self, clock_mhz: int) -> None:
        self.clock_mhz = clock_mhz

    def unlock_clock(self) -> None:
        self.clock_mhz = None

    def cap_power(self, cap_w: int) -> None:
        if self.refuses_caps:
            raise ControlRefusedError("no permission")
        self.cap_w = cap_w

    def uncap_power(self) -> None:
        self.cap_w = None

    def occupy(self, process: Process | None, busy: float = 1.0) -> None:
        self.occupant = process


class FakeShim:
    """In the place of a process: alive until a test says otherwise."""

    def __init__(self, pid: int, start_ticks: int) -> None:
        self.pid, self.start_ticks = pid, start_ticks
        self.alive = True
        self.signals: list[signal.Signals] = []

    def send(self, number: signal.Signals) -> None:
        self.signals.append(number)


class FakeLauncher:
    """Makes the attempt's directory and starts nothing."""

    def __init__(self) -> None:
        self.launched: list[AttemptRef] = []
        self.retuned: list[tuple[int, frozenset[int]]] = []
        self.cleaned: list[AttemptRef] = []
        self.unsupported = ""
        self.broken = ""

    def check(self, attempt: DesiredAttempt) -> None:
        if self.unsupported:
            raise UnsupportedError(self.unsupported)

    def launch(self, run: AttemptRun) -> None:
        if self.broken:
            raise OSError(self.broken)
        run.directory.mkdir(parents=True, exist_ok=True)
        run.child = cast(Process, FakeShim(0, 1))
        self.launched.append(run.attempt.ref)

    def retune(self, run: AttemptRun) -> None:
        self.retuned.append((run.attempt.attempt_id, run.cpus))

    def pin(self, run: AttemptRun) -> None: ...

    def clean_up_tenant(self, attempt: DesiredAttempt) -> None: ...

    def out_of_memory(self, run: AttemptRun) -> bool:
        return False

    def clean_up(self, run: AttemptRun) -> None:
        self.cleaned.append(run.attempt.ref)


class FakePreparer:
    """Working directories are whole when a test says so, or cannot be had."""

    def __init__(self) -> None:
        self.whole: set[AttemptRef] = set()
        self.trouble: UnpreparedError | None = None
        self.kept: set[AttemptRef] = set()

    def ready(self, run: AttemptRun) -> bool:
        if self.trouble is not None:
            raise self.trouble
        return run.attempt.ref in self.whole

    def keep_only(self, refs: set[AttemptRef]) -> None:
        self.kept = refs


class SupervisedNode:
    """A supervisor of two GPUs and four CPUs on fakes; `crash` puts a new one on the same files."""

    def __init__(self, directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = FakeClock()
        self.gpus = {uuid: FakeGpu(uuid, numa) for numa, uuid in enumerate(("GPU-a", "GPU-b"))}
        self.state_dir = StateDir(directory / "state", directory / "checkpoints")
        self.state_dir.make()
        self.shims: dict[int, FakeShim] = {}
        self.boot_id = BOOT
        self.launcher = FakeLauncher()
        self.preparer = FakePreparer()
        self.disk = DiskSpace(directory, least_bytes=0)
        self.supervisor = self._supervisor()
        monkeypatch.setattr(attempt_run, "Process", self._shim)
        monkeypatch.setattr(processes, "tree", lambda pid: frozenset({pid}))
        monkeypatch.setattr(processes, "start_ticks", lambda pid: 1)

    def crash(self, boot_id: str = BOOT) -> None:
        """The agent dies and another one takes up its state."""
        self.journal.close()
        self.boot_id = boot_id
        self.launcher = FakeLauncher()
        self.supervisor = self._supervisor()

    def accept(
        self, *attempts: DesiredAttempt, sent_s: float | None = None, **more: object
    ) -> None:
        """An answer of the service."""
        sent_s = self.clock() if sent_s is None else sent_s
        desired = Desired(1.0, NODE_LEASE_S, RUN_LEASE_S, attempts=attempts, **more)  # type: ignore[arg-type]
        self.lease.renew(sent_s, RUN_LEASE_S)
        self.supervisor.apply(desired, sent_s)

    def run(self, attempt: DesiredAttempt) -> AttemptRun:
        return self.supervisor.attempts.runs[attempt.ref]

    def claim(self, attempt: DesiredAttempt, pid: int = 4711) -> FakeShim:
        """The shim of an attempt begins its work."""
        document = {"pid": pid, "start_ticks": 1}
        (self.state_dir.run(attempt.ref) / "claim").write_text(json.dumps(document))
        self.supervisor.tick()
        return self.shims[pid]

    def exits(self, attempt: DesiredAttempt, why: str = "exited", **record: object) -> None:
        """The shim of an attempt writes its record and ends."""
        document = {
            "exit_code": 0,
            "signal": None,
            "why": why,
            "detail": "",
            "started_s": self.clock() - 2.0,
            "ended_s": self.clock(),
            "dropped": 0,
        }
        (self.state_dir.run(attempt.ref) / "exit.json").write_text(json.dumps(document | record))
        self.supervisor.tick()

    def artifacts(self) -> Artifacts:
        store, tasks = self.supervisor.attempts.store, FileTasks(Shims())
        return Artifacts(store, self.state_dir, self.disk, tasks, TenantUsers(trusted=True))

    def reports(self) -> list[AttemptReport]:
        attempts, gpus = self.supervisor.attempts, self.supervisor.gpus
        return list(attempt_reports(attempts, gpus, self.boot_id, self.clock()))

    def events(self) -> list[str]:
        return [json.loads(line)["event"] for line in self.journal.path.read_text().splitlines()]

    def _shim(self, pid: int, start_ticks: int) -> FakeShim:
        return self.shims.setdefault(pid, FakeShim(pid, start_ticks))

    def _supervisor(self) -> AttemptSupervisor:
        self.journal = Journal(self.state_dir.journal)
        self.lease = RunLease(self.state_dir.lease, self.boot_id, self.clock)
        sampler = GpuSampler(self.gpus, self.state_dir.meters, self.boot_id, self.clock)
        controls = GpuControls(self.gpus, self.journal)
        sampler.sample()
        return supervise(
            NodeAttempts(AttemptStore(self.journal), self.disk),
            state_dir=self.state_dir,
            gpus=AttemptGpus(self.gpus, sampler, controls, self.clock),
            launcher=cast(Launcher, self.launcher),
            pool=CpuPool((0, 1, 2, 3), {0: frozenset({0, 1}), 1: frozenset({2, 3})}),
            preparer=cast(WorkdirPreparer, self.preparer),
            lease=self.lease,
            boot_id=self.boot_id,
            clock=self.clock,
        )
