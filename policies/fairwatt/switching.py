"""Nodes that nothing needs are switched off, those that something waits for on."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from policies.bench.draft import PlanDraft
from policies.bench.ways import pools
from policies.contract.columns import I64
from policies.contract.snapshot import NodeState
from policies.fairwatt.problem import FairwattProblem
from policies.fairwatt.search import SlotSchedule

# A node that is wanted again so soon stays on: it would hardly be off before it boots again.
SOON_S = 600.0


class Lack(NamedTuple):
    """GPUs that something should have now and for which no node that is on has room."""

    pool: int
    gpus: int


def switch_nodes(
    problem: FairwattProblem,
    schedule: SlotSchedule,
    draft: PlanDraft,
    lacks: Sequence[Lack],
    *,
    sleeps: bool,
) -> None:
    """By what the jobs are to have now and soon, within the watts that this round leaves."""
    snapshot = problem.snapshot
    nodes, free = snapshot.nodes, draft.ledger.free
    sleeps &= snapshot.power_off
    if not sleeps and not (nodes.state == NodeState.OFF).any():
        return
    pool = pools(snapshot, nodes.partition, nodes.gpu_type)
    wanted = _wanted(problem, schedule, lacks, pool)
    # What boots already, and what is on and empty, comes before what would have to be woken.
    for state in (NodeState.BOOTING, NodeState.READY, NodeState.OFF):
        for node in np.flatnonzero(nodes.state == state).tolist():
            width, at = int(nodes.gpus[node]), int(pool[node])
            if state == NodeState.READY and free[node].bit_count() < width:
                continue
            if wanted[at] > 0:
                if state == NodeState.OFF and not draft.wake(node):
                    continue
                wanted[at] -= width
            elif state == NodeState.READY and sleeps:
                draft.sleep(node)


def _wanted(
    problem: FairwattProblem, schedule: SlotSchedule, lacks: Sequence[Lack], pool: I64
) -> list[int]:
    """GPUs on whole nodes, per pool: what lacks now, and what starts soon."""
    ways, made, edges_s = problem.ways, schedule.made, problem.ahead.edges_s
    widest = np.ones(problem.ahead.free.shape[0], np.int64)
    np.maximum.at(widest, pool, problem.snapshot.nodes.gpus)
    soon = (problem.wants.held < 0) & (made.slot > 0) & (edges_s[made.slot] <= SOON_S)
    coming = [Lack(int(ways.pool[w]), int(ways.gpus[w])) for w in made.chosen[soon].tolist()]
    wanted = [0] * len(widest)
    for at, gpus in (*lacks, *coming):
        width = int(widest[at])
        wanted[at] += gpus if gpus < width else -(-gpus // width) * width
    return wanted
