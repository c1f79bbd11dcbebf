"""The run lease: until when this node's attempts may live, kept where the shims can read it."""

import json
from collections.abc import Mapping
from pathlib import Path

from agent.clock import Clock
from agent.remember.disk import write_in_place
from agent.remember.files import read_json

# Shims look five times a second; the rest is time for the kernel to end the processes.
MARGIN_S = 0.5
# Room for as many attempts as a sync may name, each with a lease of its own.
SIZE_BYTES = 32 * 2**10


class RunLease:
    """Counted from when the sync was sent, on the boot clock, so never longer than the service's.

    Attempts are dead by `kill_at_s`, which lies before the end the service counts with. One with a
    lease of its own is dead by the end of that.
    """

    def __init__(self, path: Path, boot_id: str, clock: Clock) -> None:
        self.path, self._boot_id, self._clock = path, boot_id, clock
        kept = read_json(path)
        ours = kept is not None and kept["boot_id"] == boot_id
        self.kill_at_s: float = kept["kill_at_s"] if ours else 0.0
        self._own: dict[str, dict[str, float]] = kept.get("attempts", {}) if ours else {}

    def renew(
        self, sent_s: float, run_lease_s: float, own: Mapping[int, float] | None = None
    ) -> None:
        """`own` has the leases of attempts with one, by their ids."""
        self._own = {str(attempt): _ends(sent_s, its_s) for attempt, its_s in (own or {}).items()}
        ends = _ends(sent_s, run_lease_s)
        self.kill_at_s = ends["kill_at_s"]
        document = {"boot_id": self._boot_id, **ends, "attempts": self._own}
        # On a full disk too: attempts whose lease is not renewed end. Not durable, because after a
        # reboot there is nothing left to let live.
        write_in_place(self.path, json.dumps(document).encode(), SIZE_BYTES)

    @property
    def lapsed(self) -> bool:
        return self._clock() >= self.kill_at_s

    def lapsed_for(self, attempt_id: int) -> bool:
        return self._clock() >= self.kill_at_of(attempt_id)

    def kill_at_of(self, attempt_id: int) -> float:
        own = self._own.get(str(attempt_id))
        return own["kill_at_s"] if own else self.kill_at_s


def _ends(sent_s: float, run_lease_s: float) -> dict[str, float]:
    margin_s = min(MARGIN_S + run_lease_s / 20, run_lease_s / 2)
    return {"kill_at_s": sent_s + run_lease_s - margin_s, "run_lease_s": run_lease_s}
