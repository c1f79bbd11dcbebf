"""Brings what runs on the node to what should run, and knows how every attempt stands."""

import logging
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import msgspec

from agent import procs, reports
from agent.book import Book, Ended, Held
from agent.clock import Clock
from agent.controls import FREE, Controls, Setting
from agent.cpus import CpuPool, real
from agent.devices.base import Device, DeviceLostError
from agent.launch import Launcher, UnsupportedError
from agent.layout import Layout
from agent.lease import Lease
from agent.progress import Progress
from agent.run import Run
from agent.sampler import Sampler
from agent.wire import (
    MAX_ATTEMPTS,
    AttemptRef,
    AttemptReport,
    Cancel,
    Desired,
    DesiredAttempt,
    End,
    GpuStatus,
)

log = logging.getLogger("fairwatt.agent")


@dataclass(slots=True)
class Supervisor:
    """Called by one thread only; should a call hang, syncs stop and the lease rules."""

    layout: Layout
    book: Book
    devices: Mapping[str, Device]
    sampler: Sampler
    controls: Controls
    launcher: Launcher
    lease: Lease
    pool: CpuPool
    boot_id: str
    clock: Clock
    runs: dict[AttemptRef, Run] = field(default_factory=dict)
    _wanted: dict[AttemptRef, DesiredAttempt] = field(default_factory=dict)
    _may_start_until_s: float = 0.0
    _fenced: set[AttemptRef] = field(default_factory=set)

    def adopt(self) -> None:
        """After a start: take up what an earlier agent left, then free what nobody holds."""
        self.sampler.sample()
        for ref, held in list(self.book.held.items()):
            self.runs[ref] = run = self._run(held)
            if held.attempt.cpus:
                self.pool.take(ref.attempt_id, held.cpus)
            for uuid in self._present(held.attempt):
                self.sampler.holders[uuid] = ref.attempt_id
            run.look()
            if held.boot_id != self.boot_id:
                self._conclude(run, End.NODE_REBOOTED)
            elif run.shim is not None and run.shim.alive:
                log.info("attempt %s goes on, pid %s", ref.attempt_id, run.shim.pid)
                self.book.note("adopt", ref, pid=run.shim.pid)
                self._occupy(run)
            elif run.shim is None and not self.lease.lapsed:
                self._launch(run)
        self.tick()
        for uuid in self.devices:
            if self.holder(uuid) is None:
                self.controls.apply(uuid, FREE)

    def apply(self, desired: Desired, sent_s: float) -> None:
        for ack in desired.acks:
            self.book.ack(ack)
        self._wanted = {attempt.ref: attempt for attempt in desired.attempts}
        self._may_start_until_s = sent_s + desired.node_lease_s
        cancels = {AttemptRef(c.attempt_id, c.fence): c for c in desired.cancels}
        for ref, run in self.runs.items():
            if ref not in self._wanted:
                self._stop(run, cancels.get(ref))
        # What gives CPUs up comes before what gets them: the service has counted them once.
        for run in sorted(self.runs.values(), key=self._growth):
            if (attempt := self._wanted.get(run.attempt.ref)) is not None:
                self._adjust(run, attempt)
        self._discard(desired.discard_checkpoints)
        self.tick()

    def tick(self) -> None:
        """Notice what has begun and ended, hand GPUs on, start what waits."""
        for run in list(self.runs.values()):
            self._look_at(run)
        self._start_wanted()

    def fence(self, refs: tuple[AttemptRef, ...]) -> None:
        """The service has given these up: kill them, and speak of them no more."""
        for ref in refs:
            self._fenced.add(ref)
            self.book.ack(ref)
            if (run := self.runs.get(ref)) is not None:
                log.warning("attempt %s is no longer this node's: killing it", ref.attempt_id)
                run.stop("fenced", 0.0, self.clock())
        self.tick()

    def stop_all(self, why: str, grace_s: float | None) -> None:
        self._wanted = {}
        for run in self.runs.values():
            run.stop(why, run.attempt.grace_s if grace_s is None else grace_s, self.clock())

    def holder(self, uuid: str) -> int | None:
        held = (r.attempt_id for r, run in self.runs.items() if uuid in run.attempt.gpu_uuids)
        return next(held, None)

    def reports(self) -> tuple[AttemptReport, ...]:
        """Every attempt the service has not acknowledged the end of; the newest fence of each."""
        now_s = self.clock()
        told = [
            reports.running_report(run, now_s, self.sampler.latest)
            for ref, run in self.runs.items()
            if ref not in self._fenced
        ]
        told += [reports.waiting_report(each, self._blocked(each)) for each in self._waiting()]
        told += [
            ended.report_at(self.boot_id, now_s)
            for ended in self.book.ended.values()
            if not ended.acked
        ]
        newest = {each.attempt_id: each for each in sorted(told, key=lambda each: each.fence)}
        in_order = [each for each in told if newest[each.attempt_id] is each]
        return tuple(in_order[:MAX_ATTEMPTS])

    def gpus(self) -> tuple[GpuStatus, ...]:
        return tuple(
            reports.gpu_status(
                uuid,
                self.sampler.latest[uuid],
                self.controls.settings[uuid],
                refusal=self.controls.refusals[uuid],
                attempt_id=self.holder(uuid),
                foreign_pids=self._foreign(uuid),
            )
            for uuid in self.devices
        )

    def _look_at(self, run: Run) -> None:
        unclaimed = run.shim is None
        run.look()
        if unclaimed and run.shim is not None:
            self.book.note("start", run.attempt.ref, pid=run.shim.pid)
            self._occupy(run)
        self._measure(run)
        self.launcher.pin(run, self._real(run.cpus))
        if self.lease.lapsed:
            run.stop("lease lost", 0.0, self.clock())
        run.enforce(self.clock())
        # Looked at in this order: a shim writes its record before it dies.
        dead = run.dead
        if (record := run.exit_record) is not None:
            self._conclude(run, End(record["why"]))
        elif dead:
            run.sweep()
            never_began = run.shim is None and run.stop_reason
            self._conclude(run, End.STOPPED if never_began else End.SHIM_LOST)

    def _waiting(self) -> list[DesiredAttempt]:
        return [
            attempt
            for ref, attempt in self._wanted.items()
            if not self.book.known(ref) and ref not in self._fenced
        ]

    def _blocked(self, attempt: DesiredAttempt) -> str:
        holders = {uuid: self.holder(uuid) for uuid in attempt.gpu_uuids}
        held = {uuid: holder for uuid, holder in holders.items() if holder is not None}
        return "; ".join(f"waiting for {uuid} of attempt {holder}" for uuid, holder in held.items())

    def _start_wanted(self) -> None:
        for attempt in self._waiting():
            # An answer that took longer than the node lease may be about GPUs of others by now.
            if self.clock() >= self._may_start_until_s or self.lease.lapsed:
                return
            if not self._blocked(attempt):
                self._begin(attempt)

    def _begin(self, attempt: DesiredAttempt) -> None:
        if unknown := [uuid for uuid in attempt.gpu_uuids if uuid not in self.devices]:
            self._refuse(attempt, f"no such GPU on this node: {', '.join(unknown)}")
            return
        try:
            self.launcher.check(attempt)
        except UnsupportedError as why:
            self._refuse(attempt, str(why))
            return
        energy_mj = self.sampler.hand_over(attempt.gpu_uuids, attempt.attempt_id)
        cpus = self.pool.assign(attempt.attempt_id, attempt.cpus, self._numa(attempt))
        held = Held(attempt, self.boot_id, self.clock(), cpus, energy_mj)
        self.book.hold(held)
        self.runs[attempt.ref] = run = self._run(held)
        self._control(attempt)
        self._launch(run)
        self._respread()

    def _launch(self, run: Run) -> None:
        try:
            self.launcher.launch(run, self._real(run.cpus))
        except OSError as error:
            run.stop_reason = f"cannot start: {error}"
            self._conclude(run, End.REFUSED)

    def _adjust(self, run: Run, attempt: DesiredAttempt) -> None:
        """CPUs, memory, clock and cap of a running attempt change in place; nothing else can."""
        now = run.attempt
        changed = msgspec.structs.replace(
            now,
            cpus=attempt.cpus,
            memory_mib=attempt.memory_mib,
            clock_mhz=attempt.clock_mhz,
            power_cap_w=attempt.power_cap_w,
        )
        if changed == now:
            return
        if now.cpus != attempt.cpus:
            run.cpus = self.pool.assign(now.attempt_id, attempt.cpus, self._numa(attempt))
        run.attempt = changed
        held = self.book.held[now.ref]
        self.book.hold(replace(held, attempt=changed, cpus=run.cpus))
        self._control(changed)
        run.tell_clock(self._clock_mhz(changed))
        if (now.cpus, now.memory_mib) != (changed.cpus, changed.memory_mib):
            self.launcher.retune(run, self._real(run.cpus))
        self._respread()

    def _growth(self, run: Run) -> int:
        wanted = self._wanted.get(run.attempt.ref)
        return wanted.cpus - run.attempt.cpus if wanted else 0

    def _stop(self, run: Run, cancel: Cancel | None) -> None:
        reason = cancel.reason if cancel else "withdrawn"
        asked = cancel.grace_s if cancel else None
        run.stop(reason, run.attempt.grace_s if asked is None else asked, self.clock())

    def _refuse(self, attempt: DesiredAttempt, why: str) -> None:
        log.warning("attempt %s refused: %s", attempt.attempt_id, why)
        self.book.release(Ended(reports.refused_report(attempt, why), self.boot_id, self.clock()))

    def _conclude(self, run: Run, end: End) -> None:
        """The attempt is over: read the meters, take back clocks and caps, then free the GPUs."""
        ref, uuids = run.attempt.ref, self._present(run.attempt)
        self._measure(run)
        outcome = reports.outcome(run, end, self.clock())
        self.launcher.clean_up(run)
        for uuid in uuids:
            self.devices[uuid].occupy(None)
        end_mj = self.sampler.hand_over(uuids, None)
        for uuid in uuids:
            self.controls.apply(uuid, FREE)
        self.pool.release(ref.attempt_id)
        del self.runs[ref]
        report = reports.ended_report(run, outcome, end_mj, self.sampler.latest)
        self.book.release(Ended(report, self.boot_id, outcome.ended_s))
        if ref in self._fenced:
            self.book.ack(ref)
        log.info("attempt %s ended: %s %s", ref.attempt_id, end, outcome.detail)
        self._respread()

    def _measure(self, run: Run) -> None:
        before = run.progress.busy
        run.progress.look()
        if run.progress.busy != before:
            self._occupy(run)
        uuids = self._present(run.attempt)
        latest = ((uuid, self.sampler.latest[uuid]) for uuid in uuids)
        run.speedometer.set(self._clock_mhz(run.attempt), run.attempt.cpus, self.clock())
        run.speedometer.look(
            run.progress.step,
            run.progress.step_s,
            {uuid: (m.energy_mj, m.read_s) for uuid, m in latest if m.energy_mj is not None},
        )

    def _occupy(self, run: Run) -> None:
        for uuid in self._present(run.attempt):
            self.devices[uuid].occupy(run.shim, run.progress.busy)

    def _control(self, attempt: DesiredAttempt) -> None:
        for uuid in self._present(attempt):
            self.controls.apply(uuid, Setting(attempt.clock_mhz, attempt.power_cap_w))

    def _clock_mhz(self, attempt: DesiredAttempt) -> int | None:
        """As it is, not as it was asked for: a driver may have refused."""
        clocks = {self.controls.settings[uuid].clock_mhz for uuid in self._present(attempt)}
        return clocks.pop() if len(clocks) == 1 else None

    def _respread(self) -> None:
        """Attempts without CPUs of their own share what the others leave."""
        for run in self.runs.values():
            if run.attempt.cpus == 0 and run.cpus != (unowned := self.pool.unowned()):
                run.cpus = unowned
                self.launcher.retune(run, self._real(unowned))

    def _foreign(self, uuid: str) -> frozenset[int]:
        try:
            found = self.devices[uuid].processes()
        except DeviceLostError:
            return frozenset()
        shims = {run.shim.pid for run in self.runs.values() if run.shim is not None}
        if not found - shims or self._contained(uuid):
            return frozenset()
        return found.difference(*(procs.tree(pid) for pid in shims))

    def _contained(self, uuid: str) -> bool:
        """Processes of a container are children of its engine and look foreign."""
        runs = (run for run in self.runs.values() if uuid in run.attempt.gpu_uuids)
        return any(run.attempt.image is not None for run in runs)

    def _discard(self, keys: tuple[str, ...]) -> None:
        used = {run.attempt.checkpoint_key for run in self.runs.values()}
        for key in set(keys) - used:
            shutil.rmtree(self.layout.checkpoint(key), ignore_errors=True)

    def _run(self, held: Held) -> Run:
        directory = self.layout.run(held.attempt.ref)
        progress = Progress(directory / "progress.jsonl", self.clock)
        return Run(held.attempt, directory, held.cpus, held.held_s, held.energy_start_mj, progress)

    def _present(self, attempt: DesiredAttempt) -> tuple[str, ...]:
        """Its GPUs, but for those that have gone since an earlier agent gave them to it."""
        return tuple(uuid for uuid in attempt.gpu_uuids if uuid in self.devices)

    def _numa(self, attempt: DesiredAttempt) -> set[int]:
        nodes = (self.devices[uuid].inventory.numa_node for uuid in self._present(attempt))
        return {node for node in nodes if node is not None}

    def _real(self, cpus: frozenset[int]) -> frozenset[int]:
        return real(cpus, self.launcher.host.cpus)
