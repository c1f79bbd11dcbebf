"""Taking nodes out of service gently, and bringing them back."""

from collections.abc import Collection
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from clusters.models import Node
from clusters.node_states import State, advance
from rest.problems import Conflict
from tenancy import audit
from tenancy.callers import Caller

DRAINABLE = (State.READY, State.QUARANTINED)
RESUMABLE = (State.JOINING, State.DRAINING, State.DRAINED, State.OFF, State.QUARANTINED)


@transaction.atomic(savepoint=False)
def node_drain(*, caller: Caller, node: Node, reason: str, now: datetime) -> Node:
    """Give it no new work; it is drained once the last attempt on it has ended."""
    itself = Node.objects.filter(pk=node.pk)
    if advance(itself, sources=DRAINABLE, to=State.DRAINING, reason=reason, now=now):
        audit.record(caller, "node.drain", node, {"reason": reason})
        nodes_finish_draining(itself, now=now)
    return _found_in(node, {State.DRAINING, State.DRAINED}, "drain", DRAINABLE)


@transaction.atomic(savepoint=False)
def node_resume(*, caller: Caller, node: Node, now: datetime) -> Node:
    """Let it have work again. A lost node comes back by itself, when its agent does."""
    itself = Node.objects.filter(pk=node.pk)
    if advance(itself, sources=RESUMABLE, to=State.READY, reason="", now=now):
        audit.record(caller, "node.resume", node, {})
    return _found_in(node, {State.READY}, "resume", RESUMABLE)


def nodes_finish_draining(nodes: QuerySet[Node] | None = None, *, now: datetime) -> int:
    """Draining nodes on which nothing runs any more are drained; returns how many.

    A sweep calls it for all nodes, so that no other message needs to arrive.
    """
    idle = (Node.objects.all() if nodes is None else nodes).filter(gpus_in_use=0)
    return advance(idle, sources=[State.DRAINING], to=State.DRAINED, now=now)


def _found_in(
    node: Node, wanted: Collection[State], verb: str, from_states: Collection[State]
) -> Node:
    """Asking for what is already so is no error."""
    node.refresh_from_db(fields=("state", "state_reason", "updated_at", "version"))
    if node.state not in wanted:
        detail = f"The node is {node.state}; {verb} works on {', '.join(from_states)}."
        raise Conflict(detail, code="illegal_move")
    return node
