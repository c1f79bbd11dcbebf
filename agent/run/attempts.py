"""The node's attempts: what runs here, what should, and what the service has given up."""

from dataclasses import dataclass, field

from agent.remember.attempt_store import AttemptStore
from agent.remember.disk import DiskSpace
from agent.run.attempt_run import AttemptRun
from agent.wire import AttemptRef, DesiredAttempt


@dataclass(slots=True)
class NodeAttempts:
    store: AttemptStore
    disk: DiskSpace
    runs: dict[AttemptRef, AttemptRun] = field(default_factory=dict)
    wanted: dict[AttemptRef, DesiredAttempt] = field(default_factory=dict)
    fenced: set[AttemptRef] = field(default_factory=set)

    def holder(self, uuid: str) -> int | None:
        """The attempt that holds a GPU."""
        held = (ref.attempt_id for ref, run in self.runs.items() if uuid in run.attempt.gpu_uuids)
        return next(held, None)

    def last_of_tenant(self, attempt: DesiredAttempt) -> bool:
        """Whether nothing of its tenant runs here any more."""
        tenants = {run.attempt.tenant_id for run in self.runs.values()}
        return attempt.tenant_id is not None and attempt.tenant_id not in tenants

    def waiting(self) -> list[DesiredAttempt]:
        """Wanted, and never seen here before."""
        return [
            attempt
            for ref, attempt in self.wanted.items()
            if not self.store.known(ref) and ref not in self.fenced
        ]

    def shortage(self) -> str:
        """Why the node takes no new work; empty if it does."""
        if why := self.disk.shortage():
            return why
        return "" if self.store.has_room else "the node's disk is full: no room for the journal"

    def blocked(self, attempt: DesiredAttempt) -> str:
        """Whom the attempt waits for; empty if for nobody."""
        holders = {uuid: self.holder(uuid) for uuid in attempt.gpu_uuids}
        held = {uuid: holder for uuid, holder in holders.items() if holder is not None}
        return "; ".join(f"waiting for {uuid} of attempt {holder}" for uuid, holder in held.items())
