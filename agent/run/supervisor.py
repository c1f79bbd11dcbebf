"""Brings what runs on the node to what should run."""

import shutil
from dataclasses import dataclass

from agent.measure.gpu_controls import FREE
from agent.remember.state_dir import StateDir
from agent.run.adjust import AttemptAdjuster
from agent.run.attempt_gpus import AttemptGpus
from agent.run.attempt_run import AttemptRun
from agent.run.attempts import NodeAttempts
from agent.run.launch import Launcher
from agent.run.start import AttemptStarter
from agent.run.stop import AttemptStopper
from agent.wire import AttemptRef, Desired


@dataclass(frozen=True, slots=True)
class AttemptSupervisor:
    """Called by one thread only; should a call hang, syncs stop and the lease rules."""

    attempts: NodeAttempts
    state_dir: StateDir
    gpus: AttemptGpus
    launcher: Launcher
    adjuster: AttemptAdjuster
    stopper: AttemptStopper
    starter: AttemptStarter

    def adopt(self) -> None:
        """After a start: take up what an earlier agent left, then free what nobody holds."""
        self.gpus.sampler.sample()
        for held in list(self.attempts.store.held.values()):
            self.starter.adopt(held)
        self.tick()
        for uuid in self.gpus.devices:
            if self.attempts.holder(uuid) is None:
                self.gpus.controls.apply(uuid, FREE)

    def apply(self, desired: Desired, sent_s: float) -> None:
        """Take an answer to what was sent then."""
        for ack in desired.acks:
            self.attempts.store.ack(ack)
        self.attempts.wanted = {attempt.ref: attempt for attempt in desired.attempts}
        self.starter.may_start_until_s = sent_s + desired.node_lease_s
        self.stopper.stop_unwanted(desired.cancels)
        self.adjuster.adjust_all()
        self._discard(desired.discard_checkpoints)
        self.tick()

    def tick(self) -> None:
        """Notice what has begun and ended, hand GPUs on, start what waits."""
        for run in list(self.attempts.runs.values()):
            self._watch(run)
        self.starter.start_waiting()

    def fence(self, refs: tuple[AttemptRef, ...]) -> None:
        """The service has given these up."""
        self.stopper.fence(refs)
        self.tick()

    def _watch(self, run: AttemptRun) -> None:
        unclaimed = run.shim is None
        run.find_shim()
        if unclaimed and run.shim is not None:
            self.attempts.store.note("start", run.attempt.ref, pid=run.shim.pid)
            self.gpus.occupy(run)
        self.gpus.measure(run)
        self.launcher.pin(run)
        self.stopper.end_if_over(run)

    def _discard(self, keys: tuple[str, ...]) -> None:
        """Remove the checkpoints of jobs that are over."""
        used = {run.attempt.checkpoint_key for run in self.attempts.runs.values()}
        for key in set(keys) - used:
            shutil.rmtree(self.state_dir.checkpoint(key), ignore_errors=True)
