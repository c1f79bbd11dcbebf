"""The node's attempts: what runs here, what should, and what the service has given up."""

from dataclasses import dataclass, field

from agent.remember.attempt_store import AttemptStore
from agent.run.attempt_run import AttemptRun
from agent.wire import AttemptRef, DesiredAttempt


@dataclass(slots=True)
class NodeAttempts:
    store: AttemptStore
    runs: dict[AttemptRef, AttemptRun] = field(default_factory=dict)
    wanted: dict[AttemptRef, DesiredAttempt] = field(default_factory=dict)
    fenced: set[AttemptRef] = field(default_factory=set)

    def holder(self, uuid: str) -> int | None:
        """The attempt that holds a GPU."""
        held = (ref.attempt_id for ref, run in self.runs.items() if uuid in run.attempt.gpu_uuids)
        return next(held, None)

    def waiting(self) -> list[DesiredAttempt]:
        """Wanted, and never seen here before."""
        return [
            attempt
            for ref, attempt in self.wanted.items()
            if not self.store.known(ref) and ref not in self.fenced
        ]

    def blocked(self, attempt: DesiredAttempt) -> str:
        """Whom the attempt waits for; empty if for nobody."""
        holders = {uuid: self.holder(uuid) for uuid in attempt.gpu_uuids}
        held = {uuid: holder for uuid, holder in holders.items() if holder is not None}
        return "; ".join(f"waiting for {uuid} of attempt {holder}" for uuid, holder in held.items())
