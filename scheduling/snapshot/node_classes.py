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
from scheduling.snapshot.node_owners import ANYBODY, NOBODY, owners

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]

MOST_TYPES = 64


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
    owner = owners(jobs, nodes, tenants, kind)
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
