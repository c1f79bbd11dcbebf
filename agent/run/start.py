"""Starts attempts whose GPUs are free, and takes up those that an earlier agent started."""

import logging
from dataclasses import dataclass

from agent.clock import Clock
from agent.files.preparation import UnpreparedError, WorkdirPreparer
from agent.measure.progress import Progress
from agent.remember.attempt_store import EndedAttempt, HeldAttempt
from agent.remember.lease import RunLease
from agent.remember.state_dir import StateDir
from agent.run.adjust import AttemptAdjuster
from agent.run.attempt_gpus import AttemptGpus
from agent.run.attempt_run import AttemptRun
from agent.run.attempts import NodeAttempts
from agent.run.cpus import CpuPool
from agent.run.launch import Launcher, UnsupportedError
from agent.run.outcome import refused_report
from agent.run.stop import AttemptStopper
from agent.wire import AttemptRef, DesiredAttempt, End

log = logging.getLogger("fairwatt.agent")


@dataclass(slots=True)
class AttemptStarter:
    attempts: NodeAttempts
    state_dir: StateDir
    gpus: AttemptGpus
    launcher: Launcher
    pool: CpuPool
    adjuster: AttemptAdjuster
    stopper: AttemptStopper
    preparer: WorkdirPreparer
    lease: RunLease
    boot_id: str
    clock: Clock
    may_start_until_s: float = 0.0

    def start_waiting(self) -> None:
        if not self.lease.lapsed:
            self._launch_adopted()
            self._prepare()
        for attempt in self.attempts.waiting():
            # An answer that took longer than the node lease may be about GPUs of others by now.
            if self.clock() >= self.may_start_until_s or self.lease.lapsed:
                return
            if not self.attempts.blocked(attempt):
                self._start(attempt)

    def adopt(self, held: HeldAttempt) -> None:
        """What an earlier agent held: it goes on, is started now, or is over."""
        ref = held.attempt.ref
        self.attempts.runs[ref] = run = self._run(held)
        if held.attempt.cpus:
            self.pool.take(ref.attempt_id, held.cpus)
        self.gpus.adopt(held.attempt)
        run.find_shim()
        if held.boot_id != self.boot_id:
            self.stopper.conclude_rebooted(run, held.boot_id)
        elif run.shim is not None and run.shim.alive:
            log.info("attempt %s goes on, pid %s", ref.attempt_id, run.shim.pid)
            self.attempts.store.note("adopt", ref, pid=run.shim.pid)
            self.gpus.occupy(run)
        elif run.shim is None:
            # The values that it starts with are in no journal: the next answer brings them.
            run.unlaunched = True

    def _launch_adopted(self) -> None:
        for ref, run in list(self.attempts.runs.items()):
            if run.unlaunched and run.kill_at_s is None and ref in self.attempts.wanted:
                run.unlaunched = False
                run.attempt = self.attempts.wanted[ref]
                self._begin(run)

    def _start(self, attempt: DesiredAttempt) -> None:
        if why := self._obstacle(attempt):
            self.refuse(attempt.ref, why)
            return
        energy_mj = self.gpus.hand_over(attempt)
        near = self.gpus.numa_nodes(attempt)
        cpus = self.pool.assign(attempt.attempt_id, attempt.cpus, near)
        held = HeldAttempt(attempt, self.boot_id, self.clock(), cpus, energy_mj)
        self.attempts.store.hold(held)
        self.attempts.runs[attempt.ref] = run = self._run(held)
        self.gpus.set_controls(attempt)
        self._begin(run)
        self.adjuster.respread()

    def _obstacle(self, attempt: DesiredAttempt) -> str:
        """Why the attempt cannot run here; empty if it can."""
        if missing := self.gpus.missing(attempt):
            return f"no such GPU on this node: {', '.join(missing)}"
        try:
            self.launcher.check(attempt)
        except UnsupportedError as why:
            return str(why)
        return self.attempts.shortage()

    def _begin(self, run: AttemptRun) -> None:
        """At once, or when what it brings along is there."""
        if run.attempt.workdir is None:
            self._launch(run)
            return
        run.preparing = True
        self.attempts.store.note("prepare", run.attempt.ref)
        self._prepare_one(run)

    def _prepare(self) -> None:
        for run in list(self.attempts.runs.values()):
            if run.preparing and run.kill_at_s is None:
                self._prepare_one(run)
        waiting = (ref for ref, run in self.attempts.runs.items() if run.preparing)
        self.preparer.keep_only(set(waiting))

    def _prepare_one(self, run: AttemptRun) -> None:
        try:
            run.preparing = not self.preparer.ready(run)
        except UnpreparedError as why:
            run.stop_reason = str(why)
            self.stopper.conclude(run, why.end)
        except OSError as error:
            run.stop_reason = f"its working directory cannot be made: {error}"
            self.stopper.conclude(run, End.REFUSED)
        else:
            if not run.preparing:
                self._launch(run)

    def _launch(self, run: AttemptRun) -> None:
        run.waits_for = ""
        try:
            self.launcher.launch(run)
        except OSError as error:
            run.stop_reason = f"cannot start: {error}"
            self.stopper.conclude(run, End.REFUSED)

    def refuse(self, ref: AttemptRef, why: str) -> None:
        """Once: the service may ask again before it has heard."""
        if self.attempts.store.known(ref):
            return
        log.warning("attempt %s refused: %s", ref.attempt_id, why)
        report = refused_report(ref, why)
        self.attempts.store.release(EndedAttempt(report, self.boot_id, self.clock()))

    def _run(self, held: HeldAttempt) -> AttemptRun:
        directory = self.state_dir.run(held.attempt.ref)
        progress = Progress(directory / "progress.jsonl", self.clock)
        return AttemptRun(
            held.attempt, directory, held.cpus, held.held_s, held.energy_start_mj, progress
        )
