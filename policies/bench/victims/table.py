"""Running jobs that could be stopped: what each costs, and who may stop it."""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from policies.bench.power import held_gpus
from policies.bench.roster import borrowing, lost_s, stoppable
from policies.bench.victims.cover import Victim
from policies.contract.columns import F64, I64, U64, Bool
from policies.contract.plan_columns import Placed
from policies.contract.snapshot import Snapshot


class Preemptor(NamedTuple):
    """A job that claims room, with its number by the ordering."""

    row: int
    key: float
    tenant: int
    partition: int


class Outlook(NamedTuple):
    """Per node: GPUs free soon, GPUs of stoppable jobs, and the least cost per GPU of those."""

    soon: I64
    stoppable: I64
    per_gpu: F64


class Victims:
    """`threshold` is the number that a preemptor's must be below; see `orderings`.

    It is the lower of a job's number now and its number once stopped, so that a stopped job can not
    turn round and stop its preemptor. `lost` is `lost_s(snapshot)`, for a caller that has it.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        threshold: F64,
        *,
        min_run_s: float,
        by_rank: bool,
        lost: F64 | None = None,
    ) -> None:
        jobs = snapshot.jobs
        self.stoppable = stoppable(snapshot, min_run_s)
        self.threshold = threshold
        if not by_rank:
            self.threshold = np.full(len(jobs), -np.inf)
            self.stoppable &= borrowing(snapshot)
        self.partition = jobs.partition
        self._snapshot = snapshot
        self._lost = lost
        self._on_node: dict[int, list[Victim]] = {}

    # What follows is needed only once somebody may be stopped, which in most rounds nobody may.

    @cached_property
    def cost_gpu_s(self) -> F64:
        lost = lost_s(self._snapshot) if self._lost is None else self._lost
        return lost * held_gpus(self._snapshot)

    @cached_property
    def pieces(self) -> Placed:
        """What jobs hold, sorted by node."""
        held = Placed.held(self._snapshot)
        return held.only(np.argsort(held.node, kind="stable"))

    @cached_property
    def _gpus(self) -> I64:
        return self.pieces.counts()

    @cached_property
    def _first_of_node(self) -> I64:
        return np.searchsorted(self.pieces.node, np.arange(len(self._snapshot.nodes) + 1))

    def open_to(self, preemptor: Preemptor) -> Bool:
        """Jobs that it may stop on the nodes of its own partition."""
        guest: Bool = self.partition != preemptor.partition
        return self.stoppable & (guest | (self.threshold > preemptor.key))

    def outlook(self, preemptor: Preemptor, soon: I64) -> Outlook:
        """`soon` are the GPUs of every node that are free or will be."""
        mine = np.flatnonzero(self.open_to(preemptor)[self.pieces.job])
        node, gpus = self.pieces.node[mine], self._gpus[mine]
        per_gpu = np.full(len(soon), np.finfo(np.float64).max)
        np.minimum.at(per_gpu, node, self.cost_gpu_s[self.pieces.job[mine]] / gpus)
        stoppable = np.bincount(node, gpus, minlength=len(soon)).astype(np.int64)
        return Outlook(soon, stoppable, per_gpu)

    def on_node(self, node: int) -> list[Victim]:
        """Everything stoppable on a node, whoever may stop it."""
        found = self._on_node.get(node)
        if found is None:
            here = self.pieces.only(
                np.s_[self._first_of_node[node] : self._first_of_node[node + 1]]
            )
            cost = self.cost_gpu_s[here.job]
            there = _victims(cost, here.counts(), here.cpus, here.mem_mib, here.job, here.gpus)
            found = self._on_node[node] = [one for one in there if self.stoppable[one.row]]
        return found

    def stop(self, row: int) -> None:
        self.stoppable[row] = False

    def in_group(self, nodes: Bool, open_jobs: Bool, most: int) -> list[Victim]:
        """The `most` jobs of least cost per GPU, as seen from a group of nodes, in that order."""
        pieces = self.pieces
        inside = np.flatnonzero(nodes[pieces.node] & open_jobs[pieces.job])
        rows, at = np.unique(pieces.job[inside], return_inverse=True)
        amounts = (self._gpus, pieces.cpus, pieces.mem_mib)
        gpus, cpus, mem_mib = (np.bincount(at, each[inside]).astype(np.int64) for each in amounts)
        cost = self.cost_gpu_s[rows]
        order = np.lexsort((rows, cost / gpus))[:most]
        return _victims(*(column[order] for column in (cost, gpus, cpus, mem_mib, rows)))


def _victims(*columns: F64 | I64 | U64) -> list[Victim]:
    return [Victim(*facts) for facts in zip(*(column.tolist() for column in columns), strict=True)]
