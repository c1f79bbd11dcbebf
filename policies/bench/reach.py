"""Which nodes a shape of job may use, and whether it could fit them if they were empty."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from policies.bench.power import limited
from policies.contract.columns import F64, I32, I64, Bool, numbered
from policies.contract.snapshot import NodeState, NodeTable, Snapshot, Span
from policies.explain.reasons import WaitReason

# Up to so many jobs, a dictionary finds the distinct shapes sooner than sorting does.
_FEW = 64


class Shape(NamedTuple):
    """What jobs that can only start in the same places have in common."""

    partition: int
    gpu_types: int
    gpus: int
    cpus_per_gpu: int
    mem_mib_per_gpu: int
    span: int
    borrows: bool
    profile: int


def shapes_of(snapshot: Snapshot, rows: I64) -> tuple[list[Shape], list[int]]:
    """The distinct shapes among job `rows`, and each row's index into them."""
    jobs = snapshot.jobs
    lends = bool(snapshot.partitions.lends.any())
    # Only watts depend on the profile, and only a power budget makes watts matter.
    powered = limited(snapshot)
    columns = (
        jobs.partition[rows],
        jobs.gpu_types[rows],
        jobs.min_gpus[rows],
        jobs.cpus_per_gpu[rows],
        jobs.mem_mib_per_gpu[rows],
        jobs.span[rows],
        jobs.preemptible[rows] & lends,
        jobs.profile[rows] if powered else np.zeros(len(rows), np.int32),
    )
    if len(rows) <= _FEW:
        number: dict[Any, int] = {}
        of_row = zip(*(column.tolist() for column in columns), strict=True)
        index = [number.setdefault(shape, len(number)) for shape in of_row]
        return [Shape._make(shape) for shape in number], index
    first, number_of = numbered(*columns)
    shapes = zip(*(column[first].tolist() for column in columns), strict=True)
    return [Shape._make(shape) for shape in shapes], number_of.tolist()


def whole_shares(
    cpus_per_gpu: int, mem_mib_per_gpu: int, gpus: I64, cpus: I32 | I64 | F64, mem_mib: I64 | F64
) -> I64:
    """For how many of so many GPUs such CPUs and memory are enough, node by node."""
    if cpus_per_gpu:
        gpus = np.minimum(gpus, cpus // cpus_per_gpu)
    if mem_mib_per_gpu:
        gpus = np.minimum(gpus, mem_mib // mem_mib_per_gpu)
    return np.maximum(gpus, 0).astype(np.int64)


def node_groups(nodes: NodeTable, span: Span, rows: I64) -> list[Bool]:
    """Which of the node `rows` lie together in each group that a job of this span may fill."""
    if span is Span.NODE:
        return []
    if span is Span.ANY:
        return [rows >= 0]
    tables = {Span.RACK: nodes.rack, Span.SWITCH: nodes.switch}
    groups = [tables[kind][rows] for kind in span.groups()]
    return [group == value for group in groups for value in np.unique(group[group >= 0])]


class Stock:
    """What some nodes have to give, and whether a shape fits into it."""

    def __init__(self, snapshot: Snapshot, rows: I64, gpus: I64, cpus: I64, mem_mib: I64) -> None:
        nodes = snapshot.nodes
        self.rows = rows
        self.gpus = gpus[rows]
        self._cpus = cpus[rows]
        self._mem_mib = mem_mib[rows]
        kind = nodes.gpu_type[rows]
        self._of_type = [np.flatnonzero(kind == t) for t in np.unique(kind).tolist()]
        self._group: dict[Span, I32] = {
            Span.RACK: nodes.rack[rows],
            Span.SWITCH: nodes.switch[rows],
        }

    def room(self, shape: Shape) -> I64:
        """How many GPUs of the shape every node has room for."""
        each = shape.cpus_per_gpu, shape.mem_mib_per_gpu
        return whole_shares(*each, self.gpus, self._cpus, self._mem_mib)

    def fits(self, shape: Shape, span: int | None = None) -> bool:
        """Whether nodes of one GPU type, within one group of the span, have room for it all."""
        room = self.room(shape)
        if room.max(initial=0) >= shape.gpus:
            return True
        return self._most(room, Span(shape.span if span is None else span)) >= shape.gpus

    def largest(self, shape: Shape) -> int:
        """With how many GPUs the shape would fit."""
        return self._most(self.room(shape), Span(shape.span))

    def _most(self, room: I64, span: Span) -> int:
        single = int(room.max(initial=0))
        if span is Span.NODE:
            return single
        return max([single, *(self._together(room[at], at, span) for at in self._of_type)])

    def _together(self, room: I64, at: I64, span: Span) -> int:
        if span is Span.ANY:
            return int(room.sum())
        most = 0
        for kind in span.groups():
            group = self._group[kind][at]
            known = group >= 0
            if known.any():
                most = max(most, int(np.bincount(group[known], room[known]).max()))
        return most


class Reach:
    """Nodes that jobs of one partition, set of GPU types and right to borrow may use."""

    def __init__(self, snapshot: Snapshot, shape: Shape) -> None:
        nodes, partitions = snapshot.nodes, snapshot.partitions
        self.in_partition: Bool = nodes.partition == shape.partition
        if shape.borrows:
            # Row -1, the nodes of no partition, reads the appended last entry: they are not lent.
            self.in_partition |= np.append(partitions.lends, False)[nodes.partition]
        bits = np.uint64(shape.gpu_types) >> nodes.gpu_type.astype(np.uint64)
        self.typed: Bool = self.in_partition & (bits & np.uint64(1)).astype(bool)
        self.ready: Bool = self.typed & (nodes.state == NodeState.READY)
        self._snapshot = snapshot

    @cached_property
    def all_empty(self) -> "Stock":
        return self._empty(self.typed)

    @cached_property
    def ready_empty(self) -> "Stock":
        return self._empty(self.ready)

    @cached_property
    def on_empty(self) -> "Stock":
        off = self._snapshot.nodes.state == NodeState.OFF
        return self._empty(self.ready | (self.typed & off))

    def ready_and(self, node: int) -> "Stock":
        """Were that node ready too."""
        more = self.ready.copy()
        more[node] = True
        return self._empty(more)

    def _empty(self, chosen: Bool) -> "Stock":
        nodes = self._snapshot.nodes
        gpus, cpus = nodes.gpus.astype(np.int64), nodes.cpus.astype(np.int64)
        return Stock(self._snapshot, np.flatnonzero(chosen), gpus, cpus, nodes.mem_mib)


class Atlas:
    """The reaches of a snapshot, each worked out once."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._known: dict[tuple[int, int, bool], Reach] = {}
        self._structural: dict[Shape, WaitReason | None] = {}

    def reach(self, shape: Shape) -> Reach:
        key = (shape.partition, shape.gpu_types, shape.borrows)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Reach(self._snapshot, shape)
        return found

    def structural_reason(self, shape: Shape) -> WaitReason | None:
        """Why the shape could not start even if every node were empty."""
        if shape not in self._structural:
            self._structural[shape] = self._judge(shape)
        return self._structural[shape]

    def _judge(self, shape: Shape) -> WaitReason | None:
        reach = self.reach(shape)
        if reach.ready_empty.fits(shape):
            return None
        if not reach.typed.any():
            return WaitReason.NO_SUCH_GPU_TYPE
        if not reach.all_empty.fits(shape):
            return WaitReason.LARGER_THAN_PARTITION
        return WaitReason.POWER if reach.on_empty.fits(shape) else WaitReason.NODES_UNAVAILABLE
