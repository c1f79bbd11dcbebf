"""The scratch book of one round: what is still free, and who holds what was promised."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import msgspec
import numpy as np

from policies.bench.free_index import FreeIndex
from policies.bench.machine_layout import LayoutCache
from policies.bench.power import (
    busy_gpu_w,
    drawn_w,
    limited,
    partition_budgets_w,
    watts_left,
    watts_per_gpu,
)
from policies.bench.reach import Atlas, Shape
from policies.contract.columns import F64
from policies.contract.snapshot import UNLIMITED, Snapshot, Span

RowPiece = tuple[int, int, int, int]
"""Node row, GPU mask, CPUs, memory in MiB."""

Indexes = tuple[FreeIndex, ...]


def gpus_of(pieces: Iterable[RowPiece]) -> int:
    return sum(mask.bit_count() for _, mask, _, _ in pieces)


def overlap(some: Iterable[RowPiece], others: Iterable[RowPiece]) -> bool:
    """Whether two placements share a GPU."""
    taken = {node: mask for node, mask, _, _ in others}
    return any(mask & taken.get(node, 0) for node, mask, _, _ in some)


@dataclass(slots=True, eq=False)
class Ask:
    """What one shape of job needs, with the indexes that may serve it, by GPU type."""

    gpus: int
    cpus: int
    mem_mib: int
    span: Span
    watts: list[float]
    own: dict[int, Indexes]
    lent: dict[int, Indexes]
    types: tuple[int, ...]
    # Nodes whose CPUs, memory or watts were too short for this ask: within a round they only get
    # shorter, until something is undone and the epoch moves on.
    unfit: int = 0
    epoch: int = 0

    def room(self, gpus: int, cpus: int, mem_mib: int) -> int:
        """For how many of so many GPUs such CPUs and memory are enough."""
        if self.cpus:
            gpus = min(gpus, cpus // self.cpus)
        if self.mem_mib:
            gpus = min(gpus, mem_mib // self.mem_mib)
        return gpus


class Hold(msgspec.Struct, frozen=True, gc=False):
    """A placement taken from the ledger."""

    gpu_type: int
    gpus: int
    pieces: list[RowPiece]


Strategy = Callable[["Ledger", Ask, Indexes], list[RowPiece] | None]


class Ledger:
    """With `layouts`, what only depends on the machines is taken over from the round before."""

    def __init__(
        self,
        snapshot: Snapshot,
        strategy: Strategy,
        *,
        keeps_blocks: bool = False,
        layouts: LayoutCache | None = None,
    ) -> None:
        nodes, tenants = snapshot.nodes, snapshot.tenants
        layout = (layouts or LayoutCache()).layout(snapshot, keeps_blocks=keeps_blocks)
        self.atlas: Atlas = layout.atlas
        self.snapshot = snapshot
        self.strategy = strategy
        self.epoch = 0
        self._journal: list[Callable[[], None]] | None = None
        self.keeps_blocks = keeps_blocks
        self.free: list[int] = nodes.free_gpus.tolist()
        self.cpus: list[int] = nodes.free_cpus.tolist()
        self.mem_mib: list[int] = nodes.free_mem_mib.tolist()
        self.gpus = layout.gpus
        self.gpu_type = layout.gpu_type
        self.partition = layout.partition
        self.host_w = layout.host_w
        self.idle_w = layout.idle_w
        self.indexes = layout.indexes(nodes.free_gpus)
        self._index_key = layout.index_key
        self.quota: list[int] = tenants.quota_gpus.tolist()
        self.used: list[int] = tenants.used_gpus.tolist()
        self.quota_by_type: list[list[int]] = tenants.quota_by_type.tolist()
        self.used_by_type: list[list[int]] = tenants.used_by_type.tolist()
        self.limits_types: list[bool] = (tenants.quota_by_type != UNLIMITED).any(axis=1).tolist()
        self._serving: dict[
            tuple[int, int, bool], tuple[dict[int, Indexes], dict[int, Indexes]]
        ] = {}
        self._open_power_account()

    @cached_property
    def random(self) -> np.random.Generator:
        """The same numbers for the same snapshot."""
        return np.random.default_rng(self.snapshot.seed)

    @cached_property
    def _held(self) -> tuple[list[int], list[RowPiece]]:
        return self.snapshot.placements.offset.tolist(), self.snapshot.placements.pieces()

    def held(self, row: int) -> list[RowPiece]:
        """The pieces that a job has in the snapshot."""
        offset, pieces = self._held
        return pieces[offset[row] : offset[row + 1]]

    def _open_power_account(self) -> None:
        snapshot = self.snapshot
        self.watts_left = math.inf
        self.partition_watts_left = partition_budgets_w(snapshot)
        self.watts_per_gpu: F64 | None = None
        if limited(snapshot):
            self.watts_per_gpu = watts_per_gpu(snapshot)
            drawn = drawn_w(snapshot, self.watts_per_gpu)
            self.watts_left, self.partition_watts_left = watts_left(snapshot, drawn)

    def ask(self, shape: Shape, *, like_job: int, mixes_home_and_lent: bool = True) -> Ask:
        """The ask of a shape; `like_job` is any job row that draws the same watts."""
        watts = [] if self.watts_per_gpu is None else self.watts_per_gpu[like_job].tolist()
        key = (shape.partition, shape.gpu_types, mixes_home_and_lent)
        if key not in self._serving:
            self._serving[key] = self._indexes_for(*key)
        own, lent = self._serving[key]
        each = shape.cpus_per_gpu, shape.mem_mib_per_gpu
        return Ask(shape.gpus, *each, Span(shape.span), watts, own, lent, tuple(own))

    def _indexes_for(
        self, partition: int, gpu_types: int, mixes_home_and_lent: bool
    ) -> tuple[dict[int, Indexes], dict[int, Indexes]]:
        """By GPU type: the indexes of a partition's own nodes, and of nodes it may borrow."""
        lends = self.snapshot.partitions.lends.tolist()
        lenders = [p for p, lent in enumerate(lends) if lent and p != partition]
        borrowed = [partition, *lenders] if mixes_home_and_lent else lenders
        own: dict[int, Indexes] = {}
        lent: dict[int, Indexes] = {}
        for gpu_type in range(len(self.snapshot.gpu_types)):
            if gpu_types >> gpu_type & 1:
                own[gpu_type] = self._existing([partition], gpu_type)
                lent[gpu_type] = self._existing(borrowed, gpu_type)
        return own, lent

    def _existing(self, partitions: list[int], gpu_type: int) -> Indexes:
        keys = [(partition, gpu_type) for partition in partitions]
        return tuple(self.indexes[key] for key in keys if key in self.indexes)

    def types_within_quota(self, tenant: int, ask: Ask) -> tuple[int, ...]:
        """The GPU types of `ask` that the tenant's quotas leave room for; `ask.types` when all."""
        if self.quota[tenant] != UNLIMITED and self.used[tenant] + ask.gpus > self.quota[tenant]:
            return ()
        if not self.limits_types[tenant]:
            return ask.types
        within = tuple(t for t in ask.types if self.within_quota(tenant, t, ask.gpus))
        return ask.types if len(within) == len(ask.types) else within

    def within_quota(self, tenant: int, gpu_type: int, gpus: int) -> bool:
        """Whether the tenant's quotas leave room for so many more GPUs of a type."""
        quota, of_type = self.quota[tenant], self.quota_by_type[tenant][gpu_type]
        return (quota == UNLIMITED or self.used[tenant] + gpus <= quota) and (
            of_type == UNLIMITED or self.used_by_type[tenant][gpu_type] + gpus <= of_type
        )

    def try_place(
        self, ask: Ask, tenant: int, types: tuple[int, ...], *, borrow: bool = False
    ) -> Hold | None:
        """Take room for the whole ask on one of `types`, first listed first, or take nothing."""
        for gpu_type in types:
            pieces = self.where(ask, gpu_type, borrow=borrow)
            if pieces is None:
                continue
            hold = self.try_take(ask, tenant, gpu_type, pieces)
            if hold is not None:
                return hold
        return None

    def where(self, ask: Ask, gpu_type: int, *, borrow: bool = False) -> list[RowPiece] | None:
        """Where the whole ask would go, of one type; nothing is taken."""
        if ask.epoch != self.epoch:
            ask.unfit, ask.epoch = 0, self.epoch
        indexes = (ask.lent if borrow else ask.own)[gpu_type]
        return self.strategy(self, ask, indexes) if indexes else None

    def try_take(self, ask: Ask, tenant: int, gpu_type: int, pieces: list[RowPiece]) -> Hold | None:
        """Take these pieces for the whole ask, or nothing if watts are short."""
        if ask.watts:
            watts = [self.watts_of(ask, node, gpus.bit_count()) for node, gpus, _, _ in pieces]
            if not self._can_draw(pieces, watts):
                return None
            for piece, piece_w in zip(pieces, watts, strict=True):
                self.draw(piece[0], piece_w)
        self.take(pieces)
        self.charge(tenant, gpu_type, ask.gpus)
        return Hold(gpu_type, ask.gpus, pieces)

    def fits(self, node: int, ask: Ask, gpus: int) -> bool:
        """Room for `gpus` GPUs of `ask` on `node` apart from the GPUs themselves."""
        return (
            self.cpus[node] >= ask.cpus * gpus
            and self.mem_mib[node] >= ask.mem_mib * gpus
            and (not ask.watts or self.watts_of(ask, node, gpus) <= self.spare_w(node))
        )

    def room(self, node: int, ask: Ask) -> int:
        """How many GPUs of `ask` the node has room for."""
        return ask.room(self.free[node].bit_count(), self.cpus[node], self.mem_mib[node])

    def watts_of(self, ask: Ask, node: int, gpus: int) -> float:
        """0 where watts do not matter."""
        return self.added_w(node, gpus, ask.watts[self.gpu_type[node]]) if ask.watts else 0.0

    def added_w(self, node: int, gpus: int, gpu_w: float) -> float:
        """What so many GPUs of a node add when each draws `gpu_w`."""
        return gpus * busy_gpu_w(gpu_w, self.idle_w[self.gpu_type[node]], self.host_w[node])

    def spare_w(self, node: int) -> float:
        """Watts that may be added on a node, under the cluster's and its partition's budget."""
        return min(self.watts_left, self.partition_watts_left[self.partition[node]])

    def draw(self, node: int, watts: float) -> None:
        partition = self.partition[node]
        if self._journal is not None:
            before_w = self.watts_left, self.partition_watts_left[partition]
            self._journal.append(partial(self._restore_watts, partition, *before_w))
        self.watts_left -= watts
        self.partition_watts_left[partition] -= watts

    def _can_draw(self, pieces: Sequence[RowPiece], watts: Sequence[float]) -> bool:
        if sum(watts) > self.watts_left:
            return False
        wanted: dict[int, float] = {}
        for piece, piece_w in zip(pieces, watts, strict=True):
            partition = self.partition[piece[0]]
            wanted[partition] = wanted.get(partition, 0.0) + piece_w
        return all(w <= self.partition_watts_left[p] for p, w in wanted.items())

    def take(self, pieces: Sequence[RowPiece]) -> None:
        for node, gpus, cpus, mem_mib in pieces:
            if self._journal is not None:
                self._note(self._journal, node)
            self._change(node, self.free[node] & ~gpus)
            self.cpus[node] -= cpus
            self.mem_mib[node] -= mem_mib

    def give(self, pieces: Sequence[RowPiece]) -> None:
        for node, gpus, cpus, mem_mib in pieces:
            if self._journal is not None:
                self._note(self._journal, node)
            self._change(node, self.free[node] | gpus)
            self.cpus[node] += cpus
            self.mem_mib[node] += mem_mib
        self.epoch += 1

    def charge(self, tenant: int, gpu_type: int, gpus: int) -> None:
        if self._journal is not None:
            self._journal.append(partial(self._uncharge, tenant, gpu_type, gpus))
        self.used[tenant] += gpus
        self.used_by_type[tenant][gpu_type] += gpus

    def keep_journal(self) -> int:
        """From now on changes can be undone; how many are remembered so far."""
        if self._journal is None:
            self._journal = []
        return len(self._journal)

    def undo(self, remembered: int) -> None:
        """Back to where the journal had so many changes, exactly."""
        journal = self._journal or []
        while len(journal) > remembered:
            journal.pop()()
        # A node that was too short for some ask may have enough now.
        self.epoch += 1

    def _note(self, journal: list[Callable[[], None]], node: int) -> None:
        before = self.free[node], self.cpus[node], self.mem_mib[node]
        journal.append(partial(self._restore, node, *before))

    def _restore(self, node: int, free: int, cpus: int, mem_mib: int) -> None:
        self._change(node, free)
        self.cpus[node], self.mem_mib[node] = cpus, mem_mib

    def _restore_watts(self, partition: int, watts: float, partition_watts: float) -> None:
        self.watts_left, self.partition_watts_left[partition] = watts, partition_watts

    def _uncharge(self, tenant: int, gpu_type: int, gpus: int) -> None:
        self.used[tenant] -= gpus
        self.used_by_type[tenant][gpu_type] -= gpus

    def _change(self, node: int, after: int) -> None:
        key = self._index_key[node]
        if key is not None:
            self.indexes[key].change(node, self.free[node], after, self.gpus[node])
        self.free[node] = after

    def alike(self, node: int) -> list[int]:
        """The ready nodes of the node's partition and GPU type."""
        key = self._index_key[node]
        return [] if key is None else self.indexes[key].rows

    def nodes_of(self, indexes: Indexes) -> list[int]:
        if len(indexes) == 1:
            return indexes[0].rows
        return sorted(row for index in indexes for row in index.rows)
