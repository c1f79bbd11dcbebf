"""Evidence for one shape of job that waits: where it looked, what was short, what would help."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from policies.bench.ledger import Ledger
from policies.bench.power import limited, node_idle_w
from policies.bench.reach import Atlas, Shape, Stock
from policies.contract.columns import F64, I64
from policies.contract.snapshot import JobState, NodeState, Span
from policies.explain.reasons import Evidence, Remedy, WaitReason

# Nodes of a state that are tried as a remedy: mostly the first will do.
_MOST_NODES = 16
# Up to so many GPUs every smaller count is tried.
_FEW_GPUS = 64
_STATE_NAMES = {
    NodeState.DRAINING: "draining",
    NodeState.OFF: "off",
    NodeState.UNAVAILABLE: "unavailable",
    NodeState.BOOTING: "booting",
}


class Case(NamedTuple):
    """A shape that waits, and a job row of it."""

    shape: Shape
    row: int
    only_room: bool = True
    """Whether it would start if it had room: nothing in the policy's order keeps it back."""
    others_w: float = 0.0
    """What all others would add that wait for a place or watts."""
    held_up: frozenset[int] = frozenset()
    """Partitions in which somebody waits whom nobody passes."""


class Examiner:
    """Looks at the ledger as the round leaves it.

    Only nodes with a free GPU can give room, so a full cluster costs next to nothing to examine.
    """

    def __init__(self, ledger: Ledger, atlas: Atlas, *, lent: bool = True) -> None:
        """Without `lent` nobody borrows: the policy knows no lent nodes."""
        self._lent = lent
        self.snapshot = ledger.snapshot
        self.ledger = ledger
        self.atlas = atlas
        self.free: I64 = np.array([mask.bit_count() for mask in ledger.free], np.int64)
        self.cpus: I64 = np.array(ledger.cpus, np.int64)
        self.mem_mib: I64 = np.array(ledger.mem_mib, np.int64)
        self._stocks: dict[tuple[int, int, bool], Stock] = {}
        self._filtered: dict[tuple[int, int, bool], dict[str, int]] = {}

    def stock(self, shape: Shape) -> Stock:
        """What ready nodes in the shape's reach have left."""
        key = (shape.partition, shape.gpu_types, shape.borrows)
        found = self._stocks.get(key)
        if found is None:
            rows = np.flatnonzero(self.atlas.reach(shape).ready & (self.free > 0))
            found = Stock(self.snapshot, rows, self.free, self.cpus, self.mem_mib)
            self._stocks[key] = found
        return found

    def passing_reason(self, shape: Shape) -> WaitReason:
        """Why a shape that is not structurally impossible found no place in this round."""
        stock = self.stock(shape)
        if not len(stock.rows):
            return WaitReason.OUTRANKED
        if stock.fits(shape):
            return WaitReason.POWER if self.watts_short(shape) > 0 else WaitReason.OUTRANKED
        if shape.span != Span.ANY and stock.fits(shape, Span.ANY):
            return WaitReason.TOPOLOGY
        return WaitReason.OUTRANKED

    def watts_short(self, shape: Shape) -> float:
        """Watts missing to start the shape where it draws the least; 0 when there are enough."""
        stock = self.stock(shape)
        nodes = stock.rows[stock.room(shape) > 0]
        short_w = self._short_w(shape, nodes)
        return max(0.0, float(short_w.min())) if len(short_w) else 0.0

    def _short_w(self, shape: Shape, nodes: I64) -> F64:
        """Watts missing for the shape on each of some nodes; nothing where watts do not matter."""
        ledger, jobs = self.ledger, self.snapshot.jobs
        if ledger.watts_per_gpu is None or not len(nodes):
            return np.empty(0)
        alike = (jobs.profile == shape.profile) & (jobs.min_gpus == shape.gpus)
        same = np.flatnonzero(alike & (jobs.state == JobState.QUEUED))
        if not len(same):
            return np.empty(0)
        kind = self.snapshot.nodes.gpu_type[nodes]
        each_w = ledger.watts_per_gpu[same[0]][kind] - np.array(ledger.idle_w)[kind]
        spare_w = np.array([ledger.spare_w(node) for node in nodes.tolist()])
        return np.asarray((each_w + np.array(ledger.host_w)[nodes]) * shape.gpus - spare_w)

    def evidence(self, case: Case, reason: WaitReason) -> Evidence:
        return Evidence(
            nodes=len(self.snapshot.nodes),
            filtered=self._filters(case.shape),
            exhausted=self._exhausted(case.shape),
            facts={"gpus_asked": case.shape.gpus},
            remedies=tuple(self._remedies(case, reason)),
        )

    def _filters(self, shape: Shape) -> dict[str, int]:
        key = (shape.partition, shape.gpu_types, shape.borrows)
        if key not in self._filtered:
            reach = self.atlas.reach(shape)
            counts = {
                "partition": int((~reach.in_partition).sum()),
                "gpu_type": int((reach.in_partition & ~reach.typed).sum()),
            }
            for state, name in _STATE_NAMES.items():
                counts[name] = int((reach.typed & (self.snapshot.nodes.state == state)).sum())
            self._filtered[key] = _present(counts)
        return self._filtered[key]

    def _exhausted(self, shape: Shape) -> dict[str, int]:
        ready, rows = self.atlas.reach(shape).ready_empty, self.stock(shape).rows
        # A gang that no node could hold takes any node with room for one GPU.
        need = shape.gpus if shape.gpus <= ready.gpus.max(initial=0) else 1
        enough = rows[self.free[rows] >= need]
        lacks_cpus = self.cpus[enough] < need * shape.cpus_per_gpu
        lacks_memory = ~lacks_cpus & (self.mem_mib[enough] < need * shape.mem_mib_per_gpu)
        return _present(
            {
                "gpus": len(ready.rows) - len(enough),
                "cpus": int(lacks_cpus.sum()),
                "memory": int(lacks_memory.sum()),
            }
        )

    def _remedies(self, case: Case, reason: WaitReason) -> Iterator[Remedy]:
        shape, stock = case.shape, self.stock(case.shape)
        if reason is WaitReason.POWER:
            yield from self._power_remedies(case)
            return
        if reason is WaitReason.PREEMPTED_WORK:
            # Its place is being made: whatever else it asked for would be made for it, too.
            return
        if reason is WaitReason.TOPOLOGY:
            yield from _wider(shape, stock)
        if reason is WaitReason.NODES_UNAVAILABLE:
            yield from self._node_to_ready(shape)
        if stock.fits(shape) or not case.only_room:
            return
        yield from self._fewer(case, stock)
        yield from self._leaner(case, stock)
        yield from self._elsewhere(case)

    def _fewer(self, case: Case, stock: Stock) -> Iterator[Remedy]:
        gpus = min(stock.largest(case.shape), case.shape.gpus - 1)
        while gpus > 0:
            if self._would_start(case, case.shape._replace(gpus=gpus)):
                yield Remedy("reduce_gpus", to=gpus)
                return
            gpus = gpus - 1 if gpus <= _FEW_GPUS else gpus // 2

    def _leaner(self, case: Case, stock: Stock) -> Iterator[Remedy]:
        """For nodes with enough GPUs that only lack CPUs or memory."""
        shape = case.shape
        enough = stock.rows[stock.gpus >= shape.gpus]
        if not len(enough):
            return
        cpus = int(self.cpus[enough].max()) // shape.gpus
        leaner = shape._replace(cpus_per_gpu=cpus)
        if cpus < shape.cpus_per_gpu and self._would_start(case, leaner):
            yield Remedy("reduce_cpus_per_gpu", to=cpus)
        mem_mib = int(self.mem_mib[enough].max()) // shape.gpus
        leaner = shape._replace(mem_mib_per_gpu=mem_mib)
        if mem_mib < shape.mem_mib_per_gpu and self._would_start(case, leaner):
            yield Remedy("reduce_mem_mib_per_gpu", to=mem_mib)

    def _elsewhere(self, case: Case) -> Iterator[Remedy]:
        shape = case.shape
        for gpu_type, name in enumerate(self.snapshot.gpu_types.name):
            allowed = shape.gpu_types >> gpu_type & 1
            if not allowed and self._would_start(case, shape._replace(gpu_types=1 << gpu_type)):
                yield Remedy("allow_gpu_type", name=name)
        for partition, name in enumerate(self.snapshot.partitions.name):
            there = shape._replace(partition=partition, borrows=False)
            if partition not in {shape.partition, *case.held_up} and self._would_start(case, there):
                partition_id = int(self.snapshot.partitions.id[partition])
                yield Remedy("move_to_partition", name=name, id=partition_id)
        borrowing = shape._replace(borrows=True)
        if self._lent and not shape.borrows and self._would_start(case, borrowing):
            yield Remedy("allow_preemption")

    def _would_start(self, case: Case, shape: Shape) -> bool:
        """Whether the policy's own placement finds room and watts for it in what is left."""
        if not self.stock(shape).fits(shape):
            return False
        ask = self.ledger.ask(shape, like_job=case.row)
        tenant = int(self.snapshot.jobs.tenant[case.row])
        types = self.ledger.types_within_quota(tenant, ask)
        mark = self.ledger.keep_journal()
        hold = self.ledger.try_place(ask, tenant, types, borrow=shape.borrows)
        self.ledger.undo(mark)
        return hold is not None

    def _power_remedies(self, case: Case) -> Iterator[Remedy]:
        stock = self.stock(case.shape)
        if self.atlas.structural_reason(case.shape) is None:
            # Enough wherever it then goes.
            most_w = self._short_w(case.shape, stock.rows[stock.room(case.shape) > 0]).max()
            yield Remedy("raise_power_budget", by=float(most_w) + case.others_w)
            return
        if not limited(self.snapshot):
            # Under a budget the node itself may draw what the job would have needed.
            yield from self._first_in_state(case.shape, NodeState.OFF, "power_on_node")

    def _node_to_ready(self, shape: Shape) -> Iterator[Remedy]:
        for state in (NodeState.DRAINING, NodeState.UNAVAILABLE):
            yield from self._first_in_state(shape, state, "make_ready_node")

    def _first_in_state(self, shape: Shape, state: NodeState, action: str) -> Iterator[Remedy]:
        """One node with which the others would do, looked for among the largest."""
        nodes, reach = self.snapshot.nodes, self.atlas.reach(shape)
        there = np.flatnonzero(reach.typed & (nodes.state == state))
        largest = there[np.argsort(-nodes.gpus[there], kind="stable")][:_MOST_NODES]
        for node in largest.tolist():
            if reach.ready_and(node).fits(shape) and self._drawable(shape, node, state):
                yield Remedy(action, id=int(nodes.id[node]))
                return

    def _drawable(self, shape: Shape, node: int, state: NodeState) -> bool:
        """Whether the budgets leave enough for the shape on a node, and for waking the node."""
        short_w = self._short_w(shape, np.array([node]))
        idle_w = node_idle_w(self.snapshot)[node] if state == NodeState.OFF else 0.0
        return not len(short_w) or bool(short_w[0] + idle_w <= 0)


def _wider(shape: Shape, stock: Stock) -> Iterator[Remedy]:
    for span in Span:
        if span > shape.span and stock.fits(shape, span):
            yield Remedy("widen_span", name=span.name.lower())
            return


def _present(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}
