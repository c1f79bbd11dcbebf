"""Where things lie below the agent's state directory."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from agent.wire import AttemptRef


@dataclass(frozen=True, slots=True)
class StateDir:
    state: Path
    checkpoints: Path  # may be shared by nodes, so that a job can move with its checkpoint

    @property
    def lock(self) -> Path:
        return self.state / "lock"

    @property
    def identity(self) -> Path:
        return self.state / "identity.json"

    @property
    def journal(self) -> Path:
        return self.state / "journal.jsonl"

    @property
    def lease(self) -> Path:
        return self.state / "lease.json"

    @property
    def meters(self) -> Path:
        return self.state / "meters.json"

    @property
    def archives(self) -> Path:
        return self.state / "archives"

    def run(self, ref: AttemptRef) -> Path:
        return self.state / "runs" / f"{ref.attempt_id}-{ref.fence}"

    def checkpoint(self, key: str) -> Path:
        return self.checkpoints / key

    def make(self) -> None:
        self.state.mkdir(mode=0o711, parents=True, exist_ok=True)
        (self.state / "runs").mkdir(mode=0o711, exist_ok=True)
        self.archives.mkdir(mode=0o700, exist_ok=True)
        self.checkpoints.mkdir(mode=0o711, parents=True, exist_ok=True)

    def remove_run(self, ref: AttemptRef) -> None:
        shutil.rmtree(self.run(ref), ignore_errors=True)
