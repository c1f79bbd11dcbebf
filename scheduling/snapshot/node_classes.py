"""What nodes can and whose they are, said to policies as GPU types.

A policy already keeps to the GPU types that a job allows. So nodes of one type that differ in what
matters now (containers, workloads, whose they are while nothing keeps tenants apart) become rows of
their own among the types, and every job allows those rows that it can use. Where nothing differs,
nothing changes.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from scheduling.snapshot.copy_read import Rows

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

MOST_TYPES = 64
# Whose a node is: everybody's, or nobody's in this round.
ANYBODY, NOBODY = -1, -2


class NodeClasses(NamedTuple):
    """`type_of_row` is the GPU type of every row that policies see; the first are the types."""

    type_of_row: I64
    row_of_node: I64
    allowed: U64
    """Per job, a bit per row."""
    closed: npt.NDArray[np.bool_]
    """Nodes that get nothing in this round."""


class _Class(NamedTuple):
    kind: int
    offers: int
    owner: int


def classify(jobs: Rows, nodes: Rows, tenants: Rows, kind: I64, types: int) -> NodeClasses:
    """`kind` is every node's row among the `types` GPU types."""
    needed = int(np.bitwise_or.reduce(jobs["needs"].astype(np.int64), initial=0))
    owner = _owners(jobs, nodes, tenants, kind)
    columns = zip(kind.tolist(), (nodes["offers"] & needed).tolist(), owner.tolist(), strict=True)
    of_node = [_Class(*each) for each in columns]
    rows = _rows(of_node, types)
    closed = np.array([each not in rows or each.owner == NOBODY for each in of_node], np.bool_)
    at = [rows.get(each, each.kind) for each in of_node]
    listed = _listed(rows, types)
    return NodeClasses(
        type_of_row=np.array([each.kind for each in listed], np.int64),
        row_of_node=np.array(at, np.int64),
        allowed=_allowed(jobs, listed),
        closed=closed,
    )


def _rows(of_node: Iterable[_Class], types: int) -> dict[_Class, int]:
    """The first class of a type has the type's own row; beyond the last bit there are none."""
    rows: dict[_Class, int] = {}
    taken: set[int] = set()
    for each in sorted(set(of_node), key=lambda one: (one.owner != ANYBODY, one)):
        if each.kind not in taken:
            taken.add(each.kind)
            rows[each] = each.kind
        elif types + len(rows) - len(taken) < MOST_TYPES:
            rows[each] = types + len(rows) - len(taken)
    return rows


def _listed(rows: dict[_Class, int], types: int) -> list[_Class]:
    """A class per row; a type that no node has offers all, as nobody can be refused there."""
    listed = [_Class(kind, -1, ANYBODY) for kind in range(types)]
    listed += [_Class(0, 0, NOBODY)] * (max(rows.values(), default=-1) + 1 - types)
    for each, row in rows.items():
        listed[row] = each
    return listed


def _allowed(jobs: Rows, listed: list[_Class]) -> U64:
    """Worked out once for each kind of job."""
    asked = jobs["gpu_types"].astype(np.int64).view(np.uint64)
    if all(each.offers in (-1, _needs(jobs)) and each.owner == ANYBODY for each in listed):
        return asked
    columns = np.stack([asked, jobs["needs"].astype(np.uint64), jobs["tenant"].astype(np.uint64)])
    distinct, which = np.unique(columns, axis=1, return_inverse=True)
    masks = [_mask(*column, listed=listed) for column in distinct.T.tolist()]
    return np.array(masks, np.uint64)[which.reshape(-1)]


def _needs(jobs: Rows) -> int:
    return int(np.bitwise_or.reduce(jobs["needs"].astype(np.int64), initial=0))


def _mask(asked: int, needs: int, tenant: int, *, listed: list[_Class]) -> int:
    return sum(
        1 << row
        for row, each in enumerate(listed)
        if asked >> each.kind & 1 and needs & ~each.offers == 0 and each.owner in (ANYBODY, tenant)
    )


def _owners(jobs: Rows, nodes: Rows, tenants: Rows, kind: I64) -> I64:
    """Of nodes that are one tenant's at a time: whoever is there, or who may come in this round."""
    owner = np.where(nodes["alone"] > 0, nodes["holder"], ANYBODY).astype(np.int64)
    empty = np.flatnonzero((nodes["alone"] > 0) & (nodes["holder"] < 0))
    if len(empty):
        owner[empty] = NOBODY
        demand = _demand(jobs, tenants, nodes, owner)
        for node in empty.tolist():
            owner[node] = _next_tenant(demand, int(kind[node]), int(nodes["gpus"][node]))
    return owner


class _Demand:
    """GPUs that a tenant's queue could use beyond what is free on nodes that are its own."""

    __slots__ = ("gpus", "tenant", "types")

    def __init__(self, tenant: int, gpus: int, types: int) -> None:
        self.tenant, self.gpus, self.types = tenant, gpus, types


def _demand(jobs: Rows, tenants: Rows, nodes: Rows, owner: I64) -> list[_Demand]:
    """Who has least for its weight comes first, so that nobody waits for ever."""
    may_start = (jobs["state"] == 0) & (jobs["held"] == 0) & (jobs["unmet"] == 0)
    free = np.bitwise_count((nodes["healthy"] & ~nodes["held"]).astype(np.int64).view(np.uint64))
    turn = np.lexsort((tenants["id"], tenants["used_gpus"] / tenants["weight"]))
    found = []
    for tenant in tenants["id"][turn].tolist():
        own = may_start & (jobs["tenant"] == tenant)
        if own.any():
            gpus = int(jobs["max_gpus"][own].sum()) - int(free[owner == tenant].sum())
            types = int(np.bitwise_or.reduce(jobs["gpu_types"][own].astype(np.int64)))
            found.append(_Demand(tenant, gpus, types))
    return found


def _next_tenant(demand: list[_Demand], kind: int, gpus: int) -> int:
    for each in demand:
        if each.gpus > 0 and each.types >> kind & 1:
            each.gpus -= gpus
            return each.tenant
    return NOBODY
