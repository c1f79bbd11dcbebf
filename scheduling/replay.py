"""Plans a stored round again, to show that the same snapshot still gives the same plan."""

from dataclasses import dataclass

from policies import registry
from policies.contract.plan import Plan
from policies.contract.snapshot import Snapshot
from scheduling.models import Round


class NotReplayable(Exception):
    """The round's snapshot or plan is not stored (any more)."""


@dataclass(frozen=True)
class Replayed:
    identical: bool
    differences: list[str]


def replay(entry: Round) -> Replayed:
    if entry.snapshot is None or entry.plan is None:
        raise NotReplayable(
            f"round {entry.pk} has no stored snapshot and plan: it failed, or retention emptied it"
        )
    snapshot = Snapshot.from_bytes(bytes(entry.snapshot))
    if snapshot.digest() != entry.snapshot_digest:
        raise NotReplayable(f"round {entry.pk}: the stored snapshot does not match its digest")
    stored = Plan.from_bytes(bytes(entry.plan))
    again = registry.build(entry.policy, entry.parameters).plan(snapshot)
    return Replayed(again.digest() == entry.plan_digest, stored.diff(again))
