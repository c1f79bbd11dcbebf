"""Nobody starves: a job that has waited too long for room gets nodes, on which others do not start.

For the time being such nodes are a partition of their own, with the job and those that run there:
whatever a policy does, it does it there with that job alone. So every policy starts the job its own
way, with its own clock, CPUs and right to stop others, as soon as there is room.
"""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from policies.bench.drain import Drain, Need, Takes
from policies.bench.ledger import Ledger
from policies.bench.power import (
    busy_gpu_w,
    drawn_w,
    held_gpus,
    host_watts_per_gpu,
    limited,
    node_idle_w,
    partition_budgets_w,
    piece_watts,
    watts_at,
    watts_left,
    watts_per_gpu,
)
from policies.bench.reach import Atlas
from policies.bench.roster import in_turn, waiting, within_quota
from policies.contract.columns import I32, I64, Bool
from policies.contract.snapshot import JobTable, NodeState, PartitionTable, Snapshot, Span

Willing = Callable[[I64], Bool]
"""Which of some job rows would start now, were there room."""

# Who would start now is asked for so many jobs at a time: mostly the first is one.
_AT_ONCE = 64


@dataclass(frozen=True, slots=True, eq=False)
class Reservations:
    """`whole` is the cluster as it is, `seen` as a policy is to plan it."""

    whole: Snapshot
    seen: Snapshot
    nodes: frozenset[int] = frozenset()
    """Rows of the nodes that are kept."""

    def unparted(self, ledger: Ledger) -> Ledger:
        """The ledger of what was seen, as everybody else may look at it: what is kept is taken."""
        if not self.nodes:
            return ledger
        other = copy(ledger)
        other.snapshot, other.atlas = self.whole, Atlas(self.whole)
        other.free = [0 if row in self.nodes else mask for row, mask in enumerate(ledger.free)]
        other.partition = self.whole.nodes.partition.tolist()
        left_w = ledger.partition_watts_left
        other.partition_watts_left = [*left_w[: len(self.whole.partitions)], left_w[-1]]
        return other


def reserve(
    snapshot: Snapshot,
    patience_s: float,
    *,
    takes: Takes = "gpus",
    wakes: bool = False,
    willing: Willing | None = None,
) -> Reservations:
    """One job per partition and GPU type gets nodes: of highest priority, of these the oldest.

    Without `willing` everybody would start now; with `wakes` nodes that are off count as empty.
    """
    overdue = overdue_jobs(snapshot, patience_s)
    if not len(overdue):
        return Reservations(snapshot, snapshot)
    kept = _Keeper(snapshot, patience_s, takes=takes, wakes=wakes).keep(overdue, willing)
    return _parted(snapshot, kept) if kept else Reservations(snapshot, snapshot)


def overdue_jobs(snapshot: Snapshot, patience_s: float) -> I64:
    """Wide jobs that have never run and waited longer than that.

    Who has run before was stopped by the policy's own rule, and is served by its order again.
    """
    jobs = snapshot.jobs
    late = (snapshot.now_s - jobs.submitted_s > patience_s) & (jobs.attained_gpu_s <= 0)
    if not late.any():
        return np.empty(0, np.int64)
    rows = np.flatnonzero(late & waiting(snapshot))
    return rows[_wide(snapshot, rows)]


def _wide(snapshot: Snapshot, rows: I64) -> Bool:
    """Whether a job asks for more than one GPU brings along on any node that it may use at home.

    That much is free wherever a GPU is: such a job only waits for its turn.
    """
    jobs, nodes, kinds = snapshot.jobs, snapshot.nodes, len(snapshot.gpu_types)
    width, pool = np.maximum(nodes.gpus, 1), nodes.partition * kinds + nodes.gpu_type
    wide = jobs.min_gpus[rows] > 1
    for asked, there in (
        (jobs.cpus_per_gpu[rows], nodes.cpus // width),
        (jobs.mem_mib_per_gpu[rows], nodes.mem_mib // width),
    ):
        if asked.max(initial=0) <= there.min(initial=0):
            continue
        # Row -1, no partition, counts from the end.
        brings = np.zeros((len(snapshot.partitions) + 1) * kinds, np.int64)
        np.maximum.at(brings, pool, there)
        brings = brings.reshape(-1, kinds)[jobs.partition[rows]]
        allowed = jobs.gpu_types[rows][:, None] >> np.arange(kinds, dtype=np.uint64) & np.uint64(1)
        wide |= asked > np.where(allowed > 0, brings, 0).max(axis=1, initial=0)
    return np.asarray(wide, np.bool_)


@dataclass(frozen=True, slots=True)
class _Kept:
    job: int
    nodes: I64
    watts: float
    """What the job will add there; 0 without a budget."""


class _Keeper:
    def __init__(self, snapshot: Snapshot, patience_s: float, *, takes: Takes, wakes: bool) -> None:
        nodes = snapshot.nodes
        self.snapshot = snapshot
        self.patience_s = patience_s
        self.drain = Drain(snapshot, takes)
        self.power = _Power(snapshot)
        self._usable = self._usable_nodes(wakes=wakes)
        self._pool: I64 = nodes.partition * len(snapshot.gpu_types) + nodes.gpu_type
        self._left: set[int] = set(np.unique(self._pool[self._usable]).tolist())
        """Pools of which nothing is kept yet."""

    def keep(self, rows: I64, willing: Willing | None) -> list[_Kept]:
        kept: list[_Kept] = []
        fruitless: set[tuple[int, ...]] = set()
        for row in self._wanting(rows, willing):
            if not self._left:
                break
            shape = self._shape(row)
            found = None if shape in fruitless else self._best(row)
            if found is None:
                fruitless.add(shape)
                continue
            self._left.discard(int(self._pool[found.nodes[0]]))
            self._usable[found.nodes] = False
            self.power.spare_w -= found.watts
            kept.append(found)
        return kept

    def _usable_nodes(self, *, wakes: bool) -> Bool:
        states = self.snapshot.nodes.state
        usable = states == NodeState.READY
        if wakes:
            usable |= states == NodeState.BOOTING
            usable |= (states == NodeState.OFF) & (self.power.idle_w <= self.power.spare_w)
        return np.asarray(usable, np.bool_)

    def _wanting(self, rows: I64, willing: Willing | None) -> Iterator[int]:
        ordered, size = self._within_quota(rows), _AT_ONCE
        while some := list(islice(ordered, size)):
            chosen = some if willing is None else np.array(some)[willing(np.array(some))].tolist()
            yield from chosen
            size *= 2

    def _within_quota(self, rows: I64) -> Iterator[int]:
        """In turn; those of lower priority are not even sorted before somebody asks for them."""
        priority = self.snapshot.jobs.priority[rows]
        for level in np.unique(priority)[::-1]:
            alike = in_turn(self.snapshot, rows[priority == level])
            yield from alike[within_quota(self.snapshot, alike).any(axis=1)].tolist()

    def _shape(self, row: int) -> tuple[int, ...]:
        jobs = self.snapshot.jobs
        columns = (
            jobs.tenant, jobs.partition, jobs.gpu_types, jobs.min_gpus, jobs.cpus_per_gpu,
            jobs.mem_mib_per_gpu, jobs.span, jobs.profile,
        )  # fmt: skip
        return tuple(int(column[row]) for column in columns)

    def _best(self, row: int) -> _Kept | None:
        """On the GPU type that lacks the fewest GPUs, of equals on the first listed.

        None for who has room where something is kept for another already: it may start beside.
        """
        jobs, kinds = self.snapshot.jobs, len(self.snapshot.gpu_types)
        need = self._need(row)
        best: _Kept | None = None
        fewest = np.inf
        for kind in np.flatnonzero(within_quota(self.snapshot, np.array([row]))[0]).tolist():
            pool = int(jobs.partition[row]) * kinds + kind
            nodes = self.drain.choose(need, np.flatnonzero(self._usable & (self._pool == pool)))
            if nodes is None:
                continue
            if pool not in self._left:
                if not self.drain.missing(need, nodes):
                    return None
                continue
            watts = self.power.added_w(row, kind, need.gpus, nodes)
            missing = self.drain.missing(need, nodes)
            if watts is not None and missing < fewest:
                best, fewest = _Kept(row, nodes, watts), missing
        return best

    def _need(self, row: int) -> Need:
        jobs = self.snapshot.jobs
        return Need(
            int(jobs.min_gpus[row]),
            int(jobs.cpus_per_gpu[row]),
            int(jobs.mem_mib_per_gpu[row]),
            Span(int(jobs.span[row])),
            float(jobs.submitted_s[row]) + self.patience_s,
        )


class _Power:
    """What the budgets leave before a round."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.idle_w = node_idle_w(snapshot)
        self.spare_w = np.inf
        self._partition_w = partition_budgets_w(snapshot)
        self._host_w = host_watts_per_gpu(snapshot)
        self.limited = limited(snapshot)
        if self.limited:
            drawn = drawn_w(snapshot, watts_per_gpu(snapshot))
            self.spare_w, self._partition_w = watts_left(snapshot, drawn)

    def added_w(self, row: int, kind: int, gpus: int, nodes: I64) -> float | None:
        """What the job would add on its fewest GPUs; None where that is too much."""
        if not self.limited:
            return 0.0
        each = watts_at(self.snapshot, np.array([row]), np.array([gpus]), np.zeros(1, np.int64))
        idle_w, host_w = float(self.snapshot.gpu_types.idle_w[kind]), self._host_w[nodes].max()
        watts = gpus * busy_gpu_w(float(each[0, kind]), idle_w, float(host_w))
        off = self.snapshot.nodes.state[nodes] == NodeState.OFF
        watts += float(self.idle_w[nodes[off]].sum())
        home = int(self.snapshot.jobs.partition[row])
        return watts if watts <= min(self.spare_w, self._partition_w[home]) else None


def _parted(snapshot: Snapshot, kept: list[_Kept]) -> Reservations:
    nodes, first = snapshot.nodes, len(snapshot.partitions)
    partition = nodes.partition.copy()
    for at, one in enumerate(kept):
        partition[one.nodes] = first + at
    seen = replace(
        snapshot,
        nodes=replace(nodes, partition=partition),
        jobs=_settled(snapshot, partition, kept),
        partitions=_partitions(snapshot, kept),
    )
    return Reservations(snapshot, seen, frozenset(np.concatenate([k.nodes for k in kept]).tolist()))


def _settled(snapshot: Snapshot, partition: I32, kept: list[_Kept]) -> JobTable:
    """Who runs on kept nodes belongs there and does not grow; a gang that is also elsewhere stays.

    Who borrows there goes on doing so.
    """
    jobs, held = snapshot.jobs, snapshot.placements
    job, first = held.job_of_piece(), len(snapshot.partitions)
    there = partition[held.node]
    highest, lowest = np.full(len(jobs), -1), np.full(len(jobs), first + len(kept))
    np.maximum.at(highest, job, there)
    np.minimum.at(lowest, job, there)
    touched, inside = highest >= first, (highest >= first) & (highest == lowest)
    at_home = np.ones(len(jobs), np.bool_)
    at_home[job[snapshot.nodes.partition[held.node] != jobs.partition[job]]] = False
    home = np.where(inside & at_home, highest, jobs.partition).astype(np.int32)
    home[[one.job for one in kept]] = first + np.arange(len(kept))
    most = np.where(touched, np.minimum(jobs.max_gpus, held_gpus(snapshot)), jobs.max_gpus)
    return replace(
        jobs,
        partition=home,
        max_gpus=most.astype(np.int32),
        preemptible=jobs.preemptible & ~(touched & ~inside),
    )


def _partitions(snapshot: Snapshot, kept: list[_Kept]) -> PartitionTable:
    table, count = snapshot.partitions, len(kept)
    budgets = np.concatenate([table.power_budget_w, np.full(count, np.inf)])
    for at, one in enumerate(kept):
        home = int(snapshot.jobs.partition[one.job])
        if home >= 0 and np.isfinite(budgets[home]):
            kept_w = _drawn_on(snapshot, one.nodes) + one.watts
            budgets[home] -= kept_w
            budgets[len(table) + at] = kept_w
    return PartitionTable.of(
        name=(*table.name, *("reserved" for _ in kept)),
        id=np.concatenate([table.id, np.full(count, -1)]),
        lends=np.concatenate([table.lends, np.zeros(count, np.bool_)]),
        power_budget_w=budgets,
    )


def _drawn_on(snapshot: Snapshot, nodes: I64) -> float:
    on = nodes[snapshot.nodes.state[nodes] != NodeState.OFF]
    there = np.isin(snapshot.placements.node, nodes)
    pieces = piece_watts(snapshot, watts_per_gpu(snapshot))[there]
    return float(node_idle_w(snapshot)[on].sum() + pieces.sum())
