"""Starts attempts whose GPUs are free, and takes up those that an earlier agent started."""

import logging
from dataclasses import dataclass

from agent.clock import Clock
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
from agent.wire import DesiredAttempt, End

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
    lease: RunLease
    boot_id: str
    clock: Clock
    may_start_until_s: float = 0.0

    def start_waiting(self) -> None:
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
            self.stopper.conclude(run, End.NODE_REBOOTED)
        elif run.shim is not None and run.shim.alive:
            log.info("attempt %s goes on, pid %s", ref.attempt_id, run.shim.pid)
            self.attempts.store.note("adopt", ref, pid=run.shim.pid)
            self.gpus.occupy(run)
        elif run.shim is None and not self.lease.lapsed:
            self._launch(run)

    def _start(self, attempt: DesiredAttempt) -> None:
        if missing := self.gpus.missing(attempt):
            self._refuse(attempt, f"no such GPU on this node: {', '.join(missing)}")
            return
        try:
            self.launcher.check(attempt)
        except UnsupportedError as why:
            self._refuse(attempt, str(why))
            return
        energy_mj = self.gpus.hand_over(attempt)
        near = self.gpus.numa_nodes(attempt)
        cpus = self.pool.assign(attempt.attempt_id, attempt.cpus, near)
        held = HeldAttempt(attempt, self.boot_id, self.clock(), cpus, energy_mj)
        self.attempts.store.hold(held)
        self.attempts.runs[attempt.ref] = run = self._run(held)
        self.gpus.set_controls(attempt)
        self._launch(run)
        self.adjuster.respread()

    def _launch(self, run: AttemptRun) -> None:
        try:
            self.launcher.launch(run)
        except OSError as error:
            run.stop_reason = f"cannot start: {error}"
            self.stopper.conclude(run, End.REFUSED)

    def _refuse(self, attempt: DesiredAttempt, why: str) -> None:
        log.warning("attempt %s refused: %s", attempt.attempt_id, why)
        report = refused_report(attempt, why)
        self.attempts.store.release(EndedAttempt(report, self.boot_id, self.clock()))

    def _run(self, held: HeldAttempt) -> AttemptRun:
        directory = self.state_dir.run(held.attempt.ref)
        progress = Progress(directory / "progress.jsonl", self.clock)
        return AttemptRun(
            held.attempt, directory, held.cpus, held.held_s, held.energy_start_mj, progress
        )
