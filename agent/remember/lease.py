"""The run lease: until when this node's attempts may live, kept where the shims can read it."""

import json
from pathlib import Path

from agent.clock import Clock
from agent.remember.files import read_json, write_whole

# Shims look five times a second; the rest is time for the kernel to end the processes.
MARGIN_S = 0.5


class RunLease:
    """Counted from when the sync was sent, on the boot clock, so never longer than the service's.

    Attempts are dead by `kill_at_s`, which lies before the end the service counts with.
    """

    def __init__(self, path: Path, boot_id: str, clock: Clock) -> None:
        self.path, self._boot_id, self._clock = path, boot_id, clock
        kept = read_json(path)
        ours = kept is not None and kept["boot_id"] == boot_id
        self.kill_at_s: float = kept["kill_at_s"] if ours else 0.0

    def renew(self, sent_s: float, run_lease_s: float) -> None:
        margin_s = min(MARGIN_S + run_lease_s / 20, run_lease_s / 2)
        self.kill_at_s = sent_s + run_lease_s - margin_s
        document = {
            "boot_id": self._boot_id,
            "kill_at_s": self.kill_at_s,
            "run_lease_s": run_lease_s,
        }
        # Not durable: after a reboot there is nothing left to let live.
        write_whole(self.path, json.dumps(document).encode(), durable=False)

    @property
    def lapsed(self) -> bool:
        return self._clock() >= self.kill_at_s
