"""Evidence for one shape of job that waits: where it looked, what was short, what would help."""

from collections.abc import Iterator

import numpy as np

from policies.bench.ledger import Ledger
from policies.bench.reach import Atlas, Shape, Stock
from policies.contract.columns import I64
from policies.contract.snapshot import JobState, NodeState, Span
from policies.explain.reasons import Evidence, Remedy, WaitReason

_STATE_NAMES = {
    NodeState.DRAINING: "draining",
    NodeState.OFF: "off",
    NodeState.UNAVAILABLE: "unavailable",
    NodeState.BOOTING: "booting",
}


class Examiner:
    """Looks at the ledger as the round leaves it.

    Only nodes with a free GPU can give room, so a full cluster costs next to nothing to examine.
    """

    def __init__(self, ledger: Ledger, atlas: Atlas) -> None:
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
        ledger, stock = self.ledger, self.stock(shape)
        if ledger.watts_per_gpu is None:
            return 0.0
        nodes = stock.rows[stock.room(shape) > 0]
        jobs = self.snapshot.jobs
        alike = (jobs.profile == shape.profile) & (jobs.min_gpus == shape.gpus)
        same = np.flatnonzero(alike & (jobs.state == JobState.QUEUED))
        if not len(nodes) or not len(same):
            return 0.0
        kind = self.snapshot.nodes.gpu_type[nodes]
        each_w = ledger.watts_per_gpu[same[0]][kind] - np.array(ledger.idle_w)[kind]
        spare_w = np.array([ledger.spare_w(node) for node in nodes.tolist()])
        short_w = (each_w + np.array(ledger.host_w)[nodes]) * shape.gpus - spare_w
        return max(0.0, float(short_w.min()))

    def evidence(self, shape: Shape, reason: WaitReason) -> Evidence:
        return Evidence(
            nodes=len(self.snapshot.nodes),
            filtered=self._filters(shape),
            exhausted=self._exhausted(shape),
            facts={"gpus_asked": shape.gpus},
            remedies=tuple(self._remedies(shape, reason)),
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

    def _remedies(self, shape: Shape, reason: WaitReason) -> Iterator[Remedy]:
        stock = self.stock(shape)
        if reason is WaitReason.POWER:
            yield from self._power_remedies(shape)
            return
        if reason is WaitReason.TOPOLOGY:
            yield from _wider(shape, stock)
        if reason is WaitReason.NODES_UNAVAILABLE:
            yield from self._node_to_ready(shape)
        if stock.fits(shape):
            return
        if 0 < (largest := stock.largest(shape)) < shape.gpus:
            yield Remedy("reduce_gpus", to=largest)
        yield from self._leaner(shape, stock)
        yield from self._elsewhere(shape)

    def _leaner(self, shape: Shape, stock: Stock) -> Iterator[Remedy]:
        """For nodes with enough GPUs that only lack CPUs or memory."""
        enough = stock.rows[stock.gpus >= shape.gpus]
        if not len(enough):
            return
        cpus = int(self.cpus[enough].max()) // shape.gpus
        if cpus < shape.cpus_per_gpu and stock.fits(shape._replace(cpus_per_gpu=cpus)):
            yield Remedy("reduce_cpus_per_gpu", to=cpus)
        mem_mib = int(self.mem_mib[enough].max()) // shape.gpus
        if mem_mib < shape.mem_mib_per_gpu and stock.fits(shape._replace(mem_mib_per_gpu=mem_mib)):
            yield Remedy("reduce_mem_mib_per_gpu", to=mem_mib)

    def _elsewhere(self, shape: Shape) -> Iterator[Remedy]:
        for gpu_type, name in enumerate(self.snapshot.gpu_types.name):
            allowed = shape.gpu_types >> gpu_type & 1
            if not allowed and self._would_fit(shape._replace(gpu_types=1 << gpu_type)):
                yield Remedy("allow_gpu_type", name=name)
        for partition, name in enumerate(self.snapshot.partitions.name):
            there = shape._replace(partition=partition, borrows=False)
            if partition != shape.partition and self._would_fit(there):
                partition_id = int(self.snapshot.partitions.id[partition])
                yield Remedy("move_to_partition", name=name, id=partition_id)
        if not shape.borrows and self._would_fit(shape._replace(borrows=True)):
            yield Remedy("allow_preemption")

    def _would_fit(self, shape: Shape) -> bool:
        return self.stock(shape).fits(shape)

    def _power_remedies(self, shape: Shape) -> Iterator[Remedy]:
        short_w = self.watts_short(shape)
        if short_w > 0:
            yield Remedy("raise_power_budget", by=short_w)
            return
        yield from self._first_in_state(shape, NodeState.OFF, "power_on_node")

    def _node_to_ready(self, shape: Shape) -> Iterator[Remedy]:
        for state in (NodeState.DRAINING, NodeState.UNAVAILABLE):
            yield from self._first_in_state(shape, state, "make_ready_node")

    def _first_in_state(self, shape: Shape, state: NodeState, action: str) -> Iterator[Remedy]:
        nodes = self.snapshot.nodes
        there = self.atlas.reach(shape).typed & (nodes.state == state)
        for node in np.flatnonzero(there)[:1].tolist():
            yield Remedy(action, id=int(nodes.id[node]))


def _wider(shape: Shape, stock: Stock) -> Iterator[Remedy]:
    for span in Span:
        if span > shape.span and stock.fits(shape, span):
            yield Remedy("widen_span", name=span.name.lower())
            return


def _present(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}
