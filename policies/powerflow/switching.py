"""Nodes that nothing needs are switched off, those that something needs on."""

from policies.bench.ledger import Ledger
from policies.contract.plan import PowerNode
from policies.contract.snapshot import NodeState
from policies.powerflow.pools import PoolRoom


def switched(room: PoolRoom, ledger: Ledger) -> tuple[PowerNode, ...]:
    """By what the jobs are to have, and within the watts that this round leaves."""
    nodes = ledger.snapshot.nodes
    entries: list[PowerNode] = []
    for pool in room.pools.values():
        for one in pool.asleep:
            untouched = ledger.free[one.node] == int(nodes.free_gpus[one.node])
            if nodes.state[one.node] == NodeState.READY and untouched:
                entries.append(PowerNode(int(nodes.id[one.node]), on=False))
        for one in pool.woken:
            if nodes.state[one.node] != NodeState.OFF:
                continue
            if not room.limited:
                entries.append(PowerNode(int(nodes.id[one.node]), on=True))
            elif ledger.spare_w(one.node) >= one.idle_w:
                ledger.draw(one.node, one.idle_w)
                entries.append(PowerNode(int(nodes.id[one.node]), on=True))
    return tuple(sorted(entries, key=lambda entry: entry.node))
