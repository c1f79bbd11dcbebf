"""What follows from the machines alone, kept from one round to the next while no node changes."""

from operator import attrgetter, is_

import numpy as np

from policies.bench.free_index import FreeIndex
from policies.bench.power import host_watts_per_gpu
from policies.bench.reach import Atlas
from policies.bench.shares.needs_table import NeedsTable
from policies.contract.columns import U64
from policies.contract.snapshot import NodeState, NodeTable, Snapshot

Indexes = dict[tuple[int, int], FreeIndex]
"""By partition row and GPU type."""

_fixed = attrgetter(
    "id", "partition", "gpu_type", "gpus", "cpus", "mem_mib", "rack", "switch", "host_idle_w",
    "host_peak_w",
)  # fmt: skip


class MachineLayout:
    def __init__(self, snapshot: Snapshot, *, keeps_blocks: bool) -> None:
        nodes = snapshot.nodes
        self.snapshot = snapshot
        self.keeps_blocks = keeps_blocks
        self._fixed: tuple[object, ...] = _fixed(nodes)
        self.atlas = Atlas(snapshot)
        self.gpus: list[int] = nodes.gpus.tolist()
        self.gpu_type: list[int] = nodes.gpu_type.tolist()
        self.partition: list[int] = nodes.partition.tolist()
        self.host_w: list[float] = host_watts_per_gpu(snapshot).tolist()
        self.idle_w: list[float] = snapshot.gpu_types.idle_w.tolist()
        self.index_key: list[tuple[int, int] | None] = [None] * len(nodes)
        self._indexes: Indexes = {}
        self._free: U64 = nodes.free_gpus
        self._index(nodes, len(snapshot.gpu_types))

    def _index(self, nodes: NodeTable, kinds: int) -> None:
        ready = np.flatnonzero(nodes.state == NodeState.READY)
        key = nodes.partition[ready] * kinds + nodes.gpu_type[ready]
        for one in np.unique(key).tolist():
            rows = ready[key == one]
            named = divmod(one, kinds)
            self._indexes[named] = FreeIndex(nodes, rows, keeps_blocks=self.keeps_blocks)
            for node in rows.tolist():
                self.index_key[node] = named

    def fits(self, snapshot: Snapshot, *, keeps_blocks: bool) -> bool:
        """Whether the machines are the same; columns that never change come as the same arrays."""
        ours, nodes = self.snapshot, snapshot.nodes
        return (
            self.keeps_blocks == keeps_blocks
            and ours.partitions is snapshot.partitions
            and ours.gpu_types is snapshot.gpu_types
            and all(map(is_, self._fixed, _fixed(nodes)))
            and (ours.nodes.state is nodes.state or np.array_equal(ours.nodes.state, nodes.state))
        )

    def indexes(self, free_gpus: U64) -> Indexes:
        """Nodes by what is free on them now; the caller may change what it gets."""
        changed = (self._free != free_gpus).nonzero()[0]
        before, after = self._free[changed].tolist(), free_gpus[changed].tolist()
        for node, old, new in zip(changed.tolist(), before, after, strict=True):
            if (key := self.index_key[node]) is not None:
                self._indexes[key].change(node, old, new, self.gpus[node])
        self._free = free_gpus
        return {key: index.copy() for key, index in self._indexes.items()}


class LayoutCache:
    """Where a policy keeps what spares work from round to round; no plan depends on it."""

    def __init__(self) -> None:
        self._layout: MachineLayout | None = None
        self._needs_table: NeedsTable | None = None

    def layout(self, snapshot: Snapshot, *, keeps_blocks: bool) -> MachineLayout:
        found = self._layout
        if found is None or not found.fits(snapshot, keeps_blocks=keeps_blocks):
            found = self._layout = MachineLayout(snapshot, keeps_blocks=keeps_blocks)
        return found

    def needs_table(self, snapshot: Snapshot) -> NeedsTable:
        if self._needs_table is None or not self._needs_table.serves(snapshot):
            self._needs_table = NeedsTable(snapshot)
        return self._needs_table
