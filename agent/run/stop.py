"""Ends attempts: asked for, fenced, without a lease, or by themselves; then frees their GPUs."""

import logging
from dataclasses import dataclass

from agent.clock import Clock
from agent.remember.attempt_store import EndedAttempt
from agent.remember.lease import RunLease
from agent.run import outcome
from agent.run.adjust import AttemptAdjuster
from agent.run.attempt_gpus import AttemptGpus
from agent.run.attempt_run import AttemptRun
from agent.run.attempts import NodeAttempts
from agent.run.cpus import CpuPool
from agent.run.launch import Launcher
from agent.wire import AttemptRef, Cancel, End

log = logging.getLogger("fairwatt.agent")


@dataclass(frozen=True, slots=True)
class AttemptStopper:
    attempts: NodeAttempts
    gpus: AttemptGpus
    launcher: Launcher
    pool: CpuPool
    adjuster: AttemptAdjuster
    lease: RunLease
    boot_id: str
    clock: Clock

    def stop_unwanted(self, cancels: tuple[Cancel, ...]) -> None:
        """`cancels` say why an attempt is no longer wanted, and how long it may take to leave."""
        named = {AttemptRef(cancel.attempt_id, cancel.fence): cancel for cancel in cancels}
        for ref, run in self.attempts.runs.items():
            if ref not in self.attempts.wanted:
                cancel = named.get(ref)
                self._stop(
                    run,
                    cancel.reason if cancel else "withdrawn",
                    cancel.grace_s if cancel else None,
                )

    def stop_all(self, why: str, grace_s: float | None) -> None:
        """`grace_s` None: each has its own."""
        self.attempts.wanted = {}
        for run in self.attempts.runs.values():
            self._stop(run, why, grace_s)

    def fence(self, refs: tuple[AttemptRef, ...]) -> None:
        """The service has given these up: kill them, and speak of them no more."""
        for ref in refs:
            self.attempts.fenced.add(ref)
            self.attempts.store.ack(ref)
            if (run := self.attempts.runs.get(ref)) is not None:
                log.warning("attempt %s is no longer this node's: killing it", ref.attempt_id)
                self._stop(run, "fenced", 0.0)

    def end_if_over(self, run: AttemptRun) -> None:
        """Notice the end of an attempt, and make it come where the lease is lost or time is up."""
        if self.lease.lapsed_for(run.attempt.attempt_id):
            self._stop(run, "lease lost", 0.0)
        run.enforce(self.clock())
        # Looked at in this order: a shim writes its record before it dies.
        dead = run.dead
        if (record := run.exit_record) is not None:
            self.conclude(run, End(record["why"]))
        elif dead:
            run.sweep()
            never_began = run.shim is None and run.stop_reason
            self.conclude(run, End.STOPPED if never_began else End.SHIM_LOST)

    def conclude_rebooted(self, run: AttemptRun, boot_id: str) -> None:
        """Of another boot: it died with it, unless it had written how it ended before."""
        record = run.exit_record
        run.energy_start_mj = {}  # the counters of now are others
        end = End.NODE_REBOOTED if record is None else End(record["why"])
        self.conclude(run, end, None if record is None else boot_id)

    def conclude(self, run: AttemptRun, end: End, boot_id: str | None = None) -> None:
        """The attempt is over: read the meters, take back clocks and caps, then free the GPUs.

        `boot_id` is that of its record's times, if it is not this one.
        """
        ref, store = run.attempt.ref, self.attempts.store
        self.gpus.measure(run)
        ended = outcome.outcome_of(run, end, self.clock())
        if self.launcher.out_of_memory(run):
            ended = outcome.with_memory(ended, run.attempt.memory_mib)
        self.launcher.clean_up(run)
        end_mj = self.gpus.take_back(run.attempt)
        self.pool.release(ref.attempt_id)
        del self.attempts.runs[ref]
        if self.attempts.last_of_tenant(run.attempt):
            self.launcher.clean_up_tenant(run.attempt)
        report = outcome.ended_report(run, ended, end_mj, self.gpus.sampler.latest)
        store.release(EndedAttempt(report, boot_id or self.boot_id, ended.ended_s))
        if ref in self.attempts.fenced:
            store.ack(ref)
        log.info("attempt %s ended: %s %s", ref.attempt_id, end, ended.detail)
        self.adjuster.respread()

    def _stop(self, run: AttemptRun, why: str, grace_s: float | None) -> None:
        run.stop(why, run.attempt.grace_s if grace_s is None else grace_s, self.clock())
