"""Whose nodes are that are one tenant's at a time, in this round."""

from collections import deque
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from policies.contract.snapshot import NodeState
from scheduling.snapshot.copy_read import Rows

I64 = npt.NDArray[np.int64]

# Whose a node is: everybody's, or nobody's in this round.
ANYBODY, NOBODY = -1, -2
# What runs takes a tenant's demand before what must boot first; where nothing can start, none.
_STARTS_ON = (NodeState.READY, NodeState.BOOTING, NodeState.OFF)


class _Place(NamedTuple):
    """What decides which jobs a node is for."""

    partition: int
    kind: int
    offers: int


class _Demand:
    """GPUs that alike jobs of a tenant's queue could use beyond what is free on its own nodes."""

    __slots__ = ("gpus", "needs", "partition", "tenant", "types")

    def __init__(self, tenant: int, partition: int, types: int, needs: int, gpus: int) -> None:
        self.tenant, self.partition, self.types = tenant, partition, types
        self.needs, self.gpus = needs, gpus

    def fits(self, place: _Place) -> bool:
        able = self.types >> place.kind & 1 == 1 and self.needs & ~place.offers == 0
        return able and self.partition == place.partition


def owners(jobs: Rows, nodes: Rows, tenants: Rows, kind: I64) -> I64:
    """Of each node, who may come: whoever is there already, or who is next.

    `kind` is every node's row among the GPU types.
    """
    alone = nodes["alone"] > 0
    owner = np.where(alone, nodes["holder"], ANYBODY).astype(np.int64)
    empty = alone & (nodes["holder"] < 0)
    owner[empty] = NOBODY
    turn = [np.flatnonzero(empty & (nodes["state"] == state)) for state in _STARTS_ON]
    if any(map(len, turn)):
        _give(np.concatenate(turn).tolist(), owner, nodes, kind, _demand(jobs, tenants))
    return owner


_DemandOf = dict[int, list[_Demand]]


def _give(empty: list[int], owner: I64, nodes: Rows, kind: I64, demand: _DemandOf) -> None:
    """Each to the first tenant that can use it and still needs some."""
    places = [
        _Place(*each)
        for each in zip(
            nodes["partition"].tolist(), kind.tolist(), nodes["offers"].tolist(), strict=True
        )
    ]
    free = np.bitwise_count((nodes["healthy"] & ~nodes["held"]).astype(np.int64).view(np.uint64))
    for node in np.flatnonzero((owner >= 0) & (nodes["state"] == NodeState.READY)).tolist():
        for each in demand.get(int(owner[node]), ()):
            if each.fits(places[node]):
                each.gpus -= int(free[node])
    everybody = [each for of_tenant in demand.values() for each in of_tenant]
    waiting = {
        place: deque(each for each in everybody if each.fits(place)) for place in set(places)
    }
    for node in empty:
        owner[node] = _next_tenant(waiting[places[node]], int(free[node]))


def _demand(jobs: Rows, tenants: Rows) -> _DemandOf:
    """By tenant: who has least for its weight comes first, so that nobody waits for ever."""
    may_start = (jobs["state"] == 0) & (jobs["held"] == 0) & (jobs["unmet"] == 0)
    names = ("tenant", "partition", "gpu_types", "needs")
    columns = np.stack([jobs[name][may_start].astype(np.int64) for name in names])
    distinct, which = np.unique(columns, axis=1, return_inverse=True)
    gpus = np.bincount(which.reshape(-1), jobs["max_gpus"][may_start], distinct.shape[1])
    quota, used = tenants["quota_gpus"], tenants["used_gpus"]
    left = np.where(quota < 0, np.inf, quota - used)
    left_of = dict(zip(tenants["id"].tolist(), left.tolist(), strict=True))
    turn = np.lexsort((tenants["id"], used / tenants["weight"]))
    # Who may hold no more would keep empty nodes from those who may.
    found: _DemandOf = {
        tenant: [] for tenant in tenants["id"][turn].tolist() if left_of[tenant] > 0
    }
    for column, count in zip(distinct.T.tolist(), gpus.tolist(), strict=True):
        tenant, partition, types, needs = column
        if tenant in found:
            asked = int(min(count, left_of[tenant]))
            found[tenant].append(_Demand(tenant, partition, types, needs, asked))
    return found


def _next_tenant(waiting: deque[_Demand], gpus: int) -> int:
    """Beyond all demand nodes are the last one's: what is free of its own may lie too far apart."""
    while len(waiting) > 1 and waiting[0].gpus <= 0:
        waiting.popleft()
    if not waiting:
        return NOBODY
    waiting[0].gpus -= gpus
    return waiting[0].tenant
