"""The pieces of a plan as columns of row numbers, for checks over all of them at once."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from policies.contract.columns import I64, U64, Bool
from policies.contract.plan import Piece, Placing, Plan, Retune
from policies.contract.snapshot import Snapshot


def rows_of(ids: I64, wanted: Iterable[int]) -> I64:
    """Row numbers of database ids, -1 for the unknown."""
    sought = np.fromiter(wanted, np.int64)
    if not len(ids):
        return np.full(len(sought), -1, np.int64)
    # Ids come in order from the database, and then need no sorting.
    order = None if (ids[1:] > ids[:-1]).all() else np.argsort(ids, kind="stable")
    at = np.searchsorted(ids, sought, sorter=order).clip(max=len(ids) - 1)
    rows = at if order is None else order[at]
    return np.where(ids[rows] == sought, rows, -1)


class Placed(NamedTuple):
    """One row per piece."""

    job: I64
    node: I64
    gpus: U64
    cpus: I64
    mem_mib: I64
    clock_mhz: I64

    @classmethod
    def of(cls, snapshot: Snapshot, plan: Plan) -> "Placed":
        """What Starts, Moves and Resizes give."""
        return cls.by(snapshot, [*plan.starts, *plan.moves, *plan.resizes])

    @classmethod
    def by(cls, snapshot: Snapshot, acts: Sequence[Placing | Retune]) -> "Placed":
        pieces: list[Piece] = [piece for act in acts for piece in act.pieces]
        per_act = np.fromiter((len(act.pieces) for act in acts), np.int64, len(acts))
        rows = rows_of(snapshot.jobs.id, (act.job for act in acts))
        # A job that keeps its GPUs keeps its clock.
        clocks = [
            act.clock_mhz if isinstance(act, Placing) else int(snapshot.jobs.clock_mhz[row])
            for act, row in zip(acts, rows.tolist(), strict=True)
        ]
        return cls(
            job=np.repeat(rows, per_act),
            node=rows_of(snapshot.nodes.id, (piece.node for piece in pieces)),
            gpus=np.array([piece.gpus for piece in pieces], np.uint64),
            cpus=np.array([piece.cpus for piece in pieces], np.int64),
            mem_mib=np.array([piece.mem_mib for piece in pieces], np.int64),
            clock_mhz=np.repeat(np.array(clocks, np.int64), per_act),
        )

    @classmethod
    def held(cls, snapshot: Snapshot) -> "Placed":
        """What the snapshot says jobs hold now."""
        held = snapshot.placements
        job = held.job_of_piece()
        return cls(
            job=job,
            node=held.node.astype(np.int64),
            gpus=held.gpus,
            cpus=held.cpus.astype(np.int64),
            mem_mib=held.mem_mib,
            clock_mhz=snapshot.jobs.clock_mhz[job].astype(np.int64),
        )

    def only(self, where: Bool | I64 | slice) -> "Placed":
        return Placed._make(column[where] for column in self)

    def beside(self, other: "Placed") -> "Placed":
        """The pieces of both."""
        both: Iterator[Any] = zip(self, other, strict=True)
        return Placed._make(np.concatenate(columns) for columns in both)

    def counts(self) -> I64:
        return np.bitwise_count(self.gpus).astype(np.int64)

    def per_job(self, jobs: int) -> I64:
        """GPUs per job row."""
        return np.bincount(self.job, self.counts(), minlength=jobs).astype(np.int64)

    def per_tenant_and_type(self, snapshot: Snapshot) -> I64:
        shape = snapshot.tenants.used_by_type.shape
        cell = snapshot.jobs.tenant[self.job] * shape[1] + snapshot.nodes.gpu_type[self.node]
        flat = np.bincount(cell, self.counts(), minlength=shape[0] * shape[1])
        return flat.reshape(shape).astype(np.int64)

    def union_per_node(self, nodes: int) -> U64:
        """All GPUs named on every node."""
        union = np.zeros(nodes, np.uint64)
        np.bitwise_or.at(union, self.node, self.gpus)
        return union
