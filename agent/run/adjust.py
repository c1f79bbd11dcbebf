"""Changes running attempts in place: CPUs, memory, clock and cap; nothing else can change."""

from dataclasses import dataclass, replace

import msgspec

from agent.run.attempt_gpus import AttemptGpus
from agent.run.attempt_run import AttemptRun
from agent.run.attempts import NodeAttempts
from agent.run.cpus import CpuPool
from agent.run.launch import Launcher
from agent.wire import DesiredAttempt


@dataclass(frozen=True, slots=True)
class AttemptAdjuster:
    attempts: NodeAttempts
    gpus: AttemptGpus
    launcher: Launcher
    pool: CpuPool

    def adjust_all(self) -> None:
        """Bring what runs to what is wanted of it."""
        # What gives CPUs up comes before what gets them: the service has counted them once.
        for run in sorted(self.attempts.runs.values(), key=self._growth):
            if (attempt := self.attempts.wanted.get(run.attempt.ref)) is not None:
                self._adjust(run, attempt)

    def respread(self) -> None:
        """Attempts without CPUs of their own share what the others leave."""
        for run in self.attempts.runs.values():
            if run.attempt.cpus == 0 and run.cpus != (unowned := self.pool.unowned()):
                run.cpus = unowned
                if not run.preparing:
                    self.launcher.retune(run)

    def _adjust(self, run: AttemptRun, attempt: DesiredAttempt) -> None:
        now, store = run.attempt, self.attempts.store
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
            near = self.gpus.numa_nodes(attempt)
            run.cpus = self.pool.assign(now.attempt_id, attempt.cpus, near)
        run.attempt = changed
        store.hold(replace(store.held[now.ref], attempt=changed, cpus=run.cpus))
        self.gpus.set_controls(changed)
        run.write_clock(self.gpus.clock_mhz(changed))
        shared = (now.cpus, now.memory_mib) != (changed.cpus, changed.memory_mib)
        if shared and not run.preparing:
            self.launcher.retune(run)
        self.respread()

    def _growth(self, run: AttemptRun) -> int:
        wanted = self.attempts.wanted.get(run.attempt.ref)
        return wanted.cpus - run.attempt.cpus if wanted else 0
