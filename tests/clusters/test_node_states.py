"""The diagram of a node's states: only its moves are made, and only from where a node really is."""

from itertools import product

import pytest

from clusters import services
from clusters.models import Node
from clusters.node_states import MOVES, IllegalMoveError, State, advance
from scheduler_service.factories import hold, release
from tenancy.callers import SYSTEM
from tenancy.models import Tenant
from tests.clusters.conftest import NOW, make_node

ALL = Node.objects


def test_every_state_is_in_the_diagram() -> None:
    assert set(MOVES) == set(State)
    assert all(state not in targets for state, targets in MOVES.items())


@pytest.mark.parametrize(("source", "target"), list(product(State, State)))
def test_moves_outside_the_diagram_are_a_programming_error(
    node: Node, source: State, target: State
) -> None:
    Node.objects.update(state=source)
    if target in MOVES[source]:
        assert advance(ALL.all(), sources=[source], to=target, reason="why", now=NOW) == 1
        node.refresh_from_db()
        assert (node.state, node.state_reason, node.version) == (target, "why", 2)
        assert node.updated_at == NOW
    else:
        with pytest.raises(IllegalMoveError, match=f"from {source} to {target}"):
            advance(ALL.all(), sources=[source], to=target, reason="why", now=NOW)


def test_a_node_that_is_elsewhere_is_not_moved(node: Node) -> None:
    assert advance(ALL.all(), sources=[State.LOST], to=State.READY, now=NOW) == 0
    node.refresh_from_db()
    assert (node.state, node.version) == (State.READY, 1)


def test_the_sweep_finishes_what_has_run_dry(node: Node, tenant: Tenant) -> None:
    busy = make_node("busy")
    attempt = hold(tenant, busy)
    hold(tenant, node)
    for row in (node, busy):
        services.node_drain(caller=SYSTEM, node=row, reason="fans", now=NOW)
    release(attempt)
    assert services.nodes_finish_draining(now=NOW) == 1
    states = dict(Node.objects.values_list("name", "state"))
    assert states == {"n1": "draining", "busy": "drained"}
    busy.refresh_from_db()
    assert busy.state_reason == "fans"


def test_history_does_not_keep_a_node_from_draining(node: Node, tenant: Tenant) -> None:
    release(hold(tenant, node))
    hold(tenant, make_node("other"))
    drained = services.node_drain(caller=SYSTEM, node=node, reason="", now=NOW)
    assert drained.state == State.DRAINED
