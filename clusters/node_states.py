"""The legal moves of a node, and the only function that makes one.

    joining ──▶ ready ⇄ draining ──▶ drained ──▶ ready
    any ──▶ lost (its lease lapsed), off (powered down) or quarantined (not to be trusted)
    lost, off, quarantined ──▶ back to where they may start again

State says where a node is; `state_reason` says why. A move is a conditional UPDATE that is counted:
a node that is no longer in an expected state is not moved, and the caller sees that.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, QuerySet

from clusters.models import Node

State = Node.State

MOVES: Mapping[State, frozenset[State]] = {
    State.JOINING: frozenset({State.READY, State.LOST, State.OFF, State.QUARANTINED}),
    State.READY: frozenset({State.DRAINING, State.LOST, State.OFF, State.QUARANTINED}),
    State.DRAINING: frozenset({State.READY, State.DRAINED, State.LOST, State.QUARANTINED}),
    State.DRAINED: frozenset({State.READY, State.LOST, State.OFF, State.QUARANTINED}),
    State.LOST: frozenset(
        {State.JOINING, State.READY, State.DRAINING, State.OFF, State.QUARANTINED}
    ),
    State.OFF: frozenset({State.JOINING, State.READY, State.LOST}),
    State.QUARANTINED: frozenset({State.READY, State.DRAINING, State.LOST, State.OFF}),
}


@dataclass(frozen=True)
class IllegalMoveError(Exception):
    """A programming error: the asked-for move is in nobody's diagram."""

    source: State
    target: State

    def __str__(self) -> str:
        return f"no node moves from {self.source} to {self.target}"


def advance(
    nodes: QuerySet[Node],
    *,
    sources: Iterable[State],
    to: State,
    now: datetime,
    reason: str | None = None,
) -> int:
    """Move those of the nodes that are in one of `sources`; return how many moved.

    Without a `reason` the one they have stays.
    """
    expected = list(sources)
    for source in expected:
        if to not in MOVES[source]:
            raise IllegalMoveError(source, to)
    columns: dict[str, Any] = {} if reason is None else {"state_reason": reason}
    if to is State.READY:
        columns["idle_since_at"] = now
    return nodes.filter(state__in=expected).update(
        state=to, updated_at=now, version=F("version") + 1, **columns
    )
