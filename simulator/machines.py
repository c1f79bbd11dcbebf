"""The machines of a world: nodes, GPU types and partitions, all free."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from policies.contract.columns import F64, I32
from policies.contract.snapshot import GpuTypeTable, NodeTable, PartitionTable


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Machines:
    """Node ids are row numbers, so that a plan's ids are the world's rows."""

    nodes: NodeTable
    gpu_types: GpuTypeTable
    partitions: PartitionTable

    @property
    def gpus(self) -> int:
        return int(self.nodes.gpus.sum())

    def idle_w(self) -> F64:
        """What every node draws without a job, were it on."""
        nodes = self.nodes
        return nodes.host_idle_w + nodes.gpus * self.gpu_types.idle_w[nodes.gpu_type]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeKind:
    """`count` equal nodes, with so many of them in a rack and under a switch."""

    count: int
    gpus: int
    gpu_type: str = "GPU"
    cpus: int = 0
    mem_mib: int = 0
    per_rack: int = 0
    per_switch: int = 0
    host_idle_w: float = 0.0
    host_peak_w: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuKind:
    name: str
    idle_w: float = 0.0
    max_w: float = 0.0
    mem_mib: int = 0


def build(kinds: Sequence[NodeKind], gpus: Sequence[GpuKind] = ()) -> Machines:
    """Nodes in the order of their kinds; racks and switches are counted on through all of them."""
    known = {gpu.name: gpu for gpu in gpus}
    for kind in kinds:
        known.setdefault(kind.gpu_type, GpuKind(name=kind.gpu_type))
    names = tuple(known)
    each = [kind for kind in kinds for _ in range(kind.count)]
    count = np.array([node.gpus for node in each], np.int64)
    nodes = NodeTable.of(
        id=np.arange(len(each)),
        gpu_type=[names.index(node.gpu_type) for node in each],
        gpus=count,
        free_gpus=[(1 << int(gpus)) - 1 for gpus in count],
        cpus=[node.cpus for node in each],
        free_cpus=[node.cpus for node in each],
        mem_mib=[node.mem_mib for node in each],
        free_mem_mib=[node.mem_mib for node in each],
        rack=_groups([node.per_rack for node in each]),
        switch=_groups([node.per_switch for node in each]),
        host_idle_w=[node.host_idle_w for node in each],
        host_peak_w=[node.host_peak_w for node in each],
    )
    types = GpuTypeTable.of(
        name=names,
        idle_w=[gpu.idle_w for gpu in known.values()],
        max_w=[gpu.max_w for gpu in known.values()],
        mem_mib=[gpu.mem_mib for gpu in known.values()],
    )
    return Machines(nodes=nodes, gpu_types=types, partitions=PartitionTable.of(name=(), id=[]))


def _groups(sizes: list[int]) -> list[int]:
    """Consecutive nodes of one size share a group until it is full; size 0 is in none."""
    group, filled, size_now = -1, 0, 0
    groups = []
    for size in sizes:
        if size and (size != size_now or filled == size):
            group, filled, size_now = group + 1, 0, size
        filled += 1
        groups.append(group if size else -1)
    return groups


def in_partitions(
    machines: Machines, names: Sequence[str], weights: Sequence[float], *, lends: bool
) -> Machines:
    """Consecutive nodes to each partition, in proportion to its weight, at least one node each."""
    counts = apportion(len(machines.nodes), weights)
    return with_partitions(machines, names, np.repeat(np.arange(len(names)), counts), lends=lends)


def with_partitions(
    machines: Machines, names: Sequence[str], node_partition: I32, *, lends: bool
) -> Machines:
    columns: dict[str, Any] = {f.name: getattr(machines.nodes, f.name) for f in fields(NodeTable)}
    return replace(
        machines,
        nodes=NodeTable.of(**{**columns, "partition": node_partition}),
        partitions=PartitionTable.of(
            name=tuple(names), id=np.arange(len(names)), lends=[lends] * len(names)
        ),
    )


def apportion(total: int, weights: Sequence[float]) -> list[int]:
    """Whole shares by largest remainder, at least one each."""
    if len(weights) > total:
        raise ValueError(f"{len(weights)} partitions need at least as many nodes, not {total}")
    spare = total - len(weights)
    exact = [spare * weight / sum(weights) for weight in weights]
    shares = [1 + int(share) for share in exact]
    by_remainder = sorted(range(len(weights)), key=lambda i: (int(exact[i]) - exact[i], i))
    for i in by_remainder[: total - sum(shares)]:
        shares[i] += 1
    return shares
