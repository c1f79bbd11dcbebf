"""Forgets attempts that are over and acknowledged, so that journal and disk do not fill."""

from dataclasses import dataclass

from agent.clock import Clock
from agent.measure.gpu_controls import GpuControls
from agent.remember.attempt_store import AttemptStore
from agent.remember.journal import COMPACT_AFTER, Journal
from agent.remember.state_dir import StateDir
from agent.talk.log_upload import LogUpload

# How long the logs of an acknowledged attempt wait for a service that does not take them.
LOG_PATIENCE_S = 600.0


@dataclass(frozen=True, slots=True)
class Housekeeping:
    journal: Journal
    store: AttemptStore
    controls: GpuControls
    log_upload: LogUpload
    state_dir: StateDir
    clock: Clock

    def tidy(self) -> None:
        self._forget_done()
        if self.journal.lines > COMPACT_AFTER:
            self.journal.compact([*self.controls.entries(), *self.store.entries()])

    def _forget_done(self) -> None:
        for ref, ended in list(self.store.ended.items()):
            waited_s = abs(self.clock() - ended.ended_s)
            if ended.acked and (self.log_upload.finished(ref) or waited_s > LOG_PATIENCE_S):
                self.store.forget(ref)
                self.log_upload.forget(ref)
                self.state_dir.remove_run(ref)
