"""Keeps what ended attempts leave, and forgets those that are told and sent."""

from dataclasses import dataclass

from agent.clock import Clock
from agent.files.artifacts import Artifacts
from agent.measure.gpu_controls import GpuControls
from agent.remember.attempt_store import AttemptStore
from agent.remember.journal import COMPACT_AFTER, Journal
from agent.remember.state_dir import StateDir
from agent.talk.log_upload import LogUpload
from agent.wire import AttemptRef

# How long the logs of an acknowledged attempt wait for a service that does not take them.
LOG_PATIENCE_S = 600.0
# After a day the service no longer waits for an artifact either.
ARTIFACT_PATIENCE_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Housekeeping:
    journal: Journal
    store: AttemptStore
    controls: GpuControls
    log_upload: LogUpload
    artifacts: Artifacts
    state_dir: StateDir
    clock: Clock

    def tidy(self) -> None:
        self.artifacts.pack_ended()
        self._forget_done()
        if self.journal.lines > COMPACT_AFTER:
            self.journal.compact([*self.controls.entries(), *self.store.entries()])

    def _forget_done(self) -> None:
        for ref, ended in list(self.store.ended.items()):
            if ended.acked and self._sent(ref, abs(self.clock() - ended.ended_s)):
                self.store.forget(ref)
                self.log_upload.forget(ref)
                self.artifacts.forget(ref)
                self.state_dir.remove_run(ref)

    def _sent(self, ref: AttemptRef, waited_s: float) -> bool:
        logs = self.log_upload.finished(ref) or waited_s > LOG_PATIENCE_S
        return logs and (self.artifacts.finished(ref) or waited_s > ARTIFACT_PATIENCE_S)
