"""Which nodes to keep for a job that waits for room: those that have it, else soonest."""

from typing import Literal, NamedTuple

import numpy as np

from policies.bench.bits import buddy_take
from policies.bench.reach import node_groups, whole_shares
from policies.contract.columns import F64, I64, Bool
from policies.contract.snapshot import Snapshot, Span

Takes = Literal["gpus", "blocks", "nodes"]
"""What a policy's placement starts jobs on: any free GPUs, aligned blocks, or empty nodes only."""


class Need(NamedTuple):
    """What a job asks for, and since when nobody should have started on its nodes."""

    gpus: int
    cpus_per_gpu: int
    mem_mib_per_gpu: int
    span: Span
    since_s: float


class Drain:
    """What nodes have now, and once the jobs on them have ended."""

    def __init__(self, snapshot: Snapshot, takes: Takes) -> None:
        nodes, held = snapshot.nodes, snapshot.placements
        self.nodes = nodes
        self.takes: Takes = takes
        job, count = held.job_of_piece(), len(nodes)
        gpus = np.bitwise_count(held.gpus).astype(np.int64)
        self.free: I64 = np.bitwise_count(nodes.free_gpus).astype(np.int64)
        self.gpus: I64 = self.free + np.bincount(held.node, gpus, minlength=count).astype(np.int64)
        if takes == "nodes":
            self.free = np.where(self.free == self.gpus, self.free, 0)
        self.cpus = nodes.free_cpus + np.bincount(held.node, held.cpus, minlength=count)
        self.mem_mib = nodes.free_mem_mib + np.bincount(held.node, held.mem_mib, minlength=count)
        self.newest_s: F64 = np.full(count, -np.inf)
        np.fmax.at(self.newest_s, held.node, snapshot.jobs.started_s[job])
        left_s = np.nan_to_num(snapshot.jobs.est_run_s[job], nan=np.inf)
        order = np.lexsort((left_s, held.node))
        self._node, self._left_s = held.node[order], left_s[order]
        freed = np.cumsum(gpus[order])
        first = np.searchsorted(self._node, self._node)
        self._freed: I64 = freed - freed[first] + gpus[order][first] if len(order) else freed

    def missing(self, need: Need, rows: I64) -> int:
        """How many GPUs such nodes lack room for."""
        return max(need.gpus - int(self._room(need, rows).sum()), 0)

    def choose(self, need: Need, rows: I64) -> I64 | None:
        """Of these nodes, all of one GPU type, those to keep; None if they are too small."""
        room, most = self._room(need, rows), self._most(need, rows)
        wide, order = most >= need.gpus, self._soonest_first(need, rows, room, most)
        fitting = self._fitting(need, rows, room)
        if fitting is not None:
            return fitting
        groups = node_groups(self.nodes, need.span, rows)
        if self.takes == "gpus":
            for inside in groups:
                if room[inside].sum() >= need.gpus:
                    freest = np.flatnonzero(inside)[np.argsort(-room[inside], kind="stable")]
                    return rows[_enough(freest, room, need.gpus)]
        if self.takes == "blocks":
            # A block over a broken GPU is never free, and gangs take whole nodes.
            sound = self.gpus[rows] == self.nodes.gpus[rows]
            wide, most = wide & sound, np.where(sound, most, 0)
        if wide.any():
            return rows[order[wide[order]][:1]]
        return self._gang(rows, groups, order, most, need.gpus)

    def _gang(self, rows: I64, groups: list[Bool], order: I64, most: I64, gpus: int) -> I64 | None:
        """The first nodes of the group of which the last comes soonest."""
        rank = np.empty(len(rows), np.int64)
        rank[order] = np.arange(len(rows))
        able = [inside for inside in groups if most[inside].sum() >= gpus]
        chosen = [_enough(order[inside[order]], most, gpus) for inside in able]
        return rows[min(chosen, key=lambda some: int(rank[some].max()))] if chosen else None

    def _room(self, need: Need, rows: I64) -> I64:
        free = self.free[rows], self.nodes.free_cpus[rows], self.nodes.free_mem_mib[rows]
        return whole_shares(need.cpus_per_gpu, need.mem_mib_per_gpu, *free)

    def _most(self, need: Need, rows: I64) -> I64:
        there = self.gpus[rows], self.cpus[rows], self.mem_mib[rows]
        return whole_shares(need.cpus_per_gpu, need.mem_mib_per_gpu, *there)

    def _fitting(self, need: Need, rows: I64, room: I64) -> I64 | None:
        """A node that has room at once, the fullest first."""
        fits = np.flatnonzero(room >= need.gpus)
        fits = fits[np.argsort(room[fits], kind="stable")]
        if self.takes != "blocks":
            return rows[fits[:1]] if len(fits) else None
        masks, widths = self.nodes.free_gpus[rows[fits]], self.nodes.gpus[rows[fits]]
        blocks = zip(fits.tolist(), masks.tolist(), widths.tolist(), strict=True)
        aligned = (at for at, mask, width in blocks if buddy_take(mask, width, need.gpus))
        found = next(aligned, None)
        return None if found is None else rows[found : found + 1]

    def _soonest_first(self, need: Need, rows: I64, room: I64, most: I64) -> I64:
        """Nodes on which nobody has started since, then by when they should have room.

        Nobody starts on what is kept, so the first of them stay among the first: whoever is there
        was there when the job's patience ended.
        """
        since_s = np.maximum(self.newest_s[rows], need.since_s)
        return np.lexsort((rows, -room, self._room_in_s(need, rows, room, most), since_s))

    def _room_in_s(self, need: Need, rows: I64, room: I64, most: I64) -> F64:
        wanted = np.zeros(len(self.gpus), np.int64)
        wanted[rows] = np.minimum(most, need.gpus)
        enough = self.free[self._node] + self._freed >= wanted[self._node]
        in_s = np.full(len(self.gpus), np.inf)
        np.minimum.at(in_s, self._node[enough], self._left_s[enough])
        return np.where(room >= wanted[rows], 0.0, in_s[rows])


def _enough(order: I64, amount: I64, wanted: int) -> I64:
    """The first of `order` that have as much together."""
    order = order[amount[order] > 0]
    return order[: int(np.searchsorted(np.cumsum(amount[order]), wanted)) + 1]
