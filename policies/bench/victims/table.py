"""Running jobs that could be stopped: what each costs, and who may stop it."""

from functools import cached_property
from typing import NamedTuple

import numpy as np

from policies.bench.power import held_gpus
from policies.bench.roster import borrowing, lost_s, stoppable
from policies.bench.victims.cover import Victim
from policies.contract.columns import F64, I32, I64, U64, Bool
from policies.contract.snapshot import Snapshot


class PiecesByNode(NamedTuple):
    """What jobs hold, sorted by node."""

    node: I64
    job: I64
    gpus: I64
    mask: U64
    cpus: I32
    mem_mib: I64

    @classmethod
    def of(cls, snapshot: Snapshot) -> "PiecesByNode":
        held = snapshot.placements
        order = np.argsort(held.node, kind="stable")
        return cls(
            held.node[order].astype(np.int64),
            held.job_of_piece()[order],
            np.bitwise_count(held.gpus[order]).astype(np.int64),
            held.gpus[order],
            held.cpus[order],
            held.mem_mib[order],
        )


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
    def pieces(self) -> "PiecesByNode":
        return PiecesByNode.of(self._snapshot)

    @cached_property
    def _first_of_node(self) -> I64:
        return np.searchsorted(self.pieces.node, np.arange(len(self._snapshot.nodes) + 1))

    def open_to(self, key: float, partition: int) -> Bool:
        """Jobs that a preemptor of that number may stop on the nodes of its own `partition`."""
        outranked_or_guest: Bool = (self.threshold > key) | (self.partition != partition)
        return self.stoppable & outranked_or_guest

    def on_node(self, node: int) -> list[Victim]:
        """Everything stoppable on a node, whoever may stop it."""
        found = self._on_node.get(node)
        if found is None:
            pieces = slice(self._first_of_node[node], self._first_of_node[node + 1])
            rows = self.pieces.job[pieces]
            found = self._on_node[node] = [
                Victim(*facts)
                for facts in zip(
                    self.cost_gpu_s[rows].tolist(),
                    self.pieces.gpus[pieces].tolist(),
                    self.pieces.cpus[pieces].tolist(),
                    self.pieces.mem_mib[pieces].tolist(),
                    rows.tolist(),
                    self.pieces.mask[pieces].tolist(),
                    strict=True,
                )
                if self.stoppable[facts[4]]
            ]
        return found

    def stop(self, row: int) -> None:
        self.stoppable[row] = False

    def in_group(self, nodes: Bool, open_jobs: Bool, most: int) -> list[Victim]:
        """The `most` jobs of least cost per GPU, as seen from a group of nodes, in that order."""
        inside = nodes[self.pieces.node] & open_jobs[self.pieces.job]
        job = self.pieces.job[inside]
        if not len(job):
            return []
        rows, at = np.unique(job, return_inverse=True)
        gpus = np.bincount(at, self.pieces.gpus[inside])
        order = np.lexsort((rows, self.cost_gpu_s[rows] / gpus))[:most]
        return [
            Victim(*facts)
            for facts in zip(
                self.cost_gpu_s[rows][order].tolist(),
                gpus[order].astype(int).tolist(),
                np.bincount(at, self.pieces.cpus[inside])[order].astype(int).tolist(),
                np.bincount(at, self.pieces.mem_mib[inside])[order].astype(int).tolist(),
                rows[order].tolist(),
                strict=True,
            )
        ]
