"""The ready nodes of a snapshot, sorted into classes of equals, and which a job may use."""

from typing import NamedTuple

import numpy as np

from policies.andreas.parameters import EnergyName
from policies.bench.power import host_watts_per_gpu
from policies.contract.columns import F64, I64, numbered
from policies.contract.snapshot import NodeState, Snapshot


class AndreasNodeClasses(NamedTuple):
    """Nodes are numbered by class, then by row; `rows` leads back to the snapshot."""

    rows: I64
    node_class: I64
    class_first: I64
    class_partition: I64
    class_type: I64
    base_w: F64
    host_w: F64
    idle_w: F64
    """Per GPU type: what a GPU's watts already count in its node's base."""

    @classmethod
    def of(cls, snapshot: Snapshot, energy: EnergyName) -> "AndreasNodeClasses":
        nodes, idle_w = snapshot.nodes, snapshot.gpu_types.idle_w
        ready = np.flatnonzero(nodes.state == NodeState.READY)
        watts = nodes.host_idle_w[ready], nodes.host_peak_w[ready]
        first, kind = numbered(
            nodes.partition[ready],
            nodes.gpu_type[ready],
            nodes.gpus[ready],
            *(np.unique(column, return_inverse=True)[1] for column in watts),
        )
        order = np.argsort(kind, kind="stable")
        rows = ready[order]
        by_node = energy == "node"
        base_w = nodes.host_idle_w + nodes.gpus * idle_w[nodes.gpu_type]
        host_w = nodes.host_peak_w / np.maximum(nodes.gpus, 1)
        return cls(
            rows=rows,
            node_class=kind[order],
            class_first=np.searchsorted(kind[order], np.arange(len(first) if len(ready) else 0)),
            class_partition=nodes.partition[ready][first[: len(ready)]].astype(np.int64),
            class_type=nodes.gpu_type[ready][first[: len(ready)]].astype(np.int64),
            base_w=(base_w if by_node else np.zeros(len(nodes)))[rows],
            host_w=(host_watts_per_gpu(snapshot) if by_node else host_w)[rows],
            idle_w=idle_w if by_node else np.zeros(len(idle_w)),
        )

    def least_of_type(self, watts: F64) -> F64:
        """Per GPU type the watts of the node that has the least of them; 0 without any."""
        least = np.full(len(self.idle_w), np.inf)
        np.minimum.at(least, self.class_type[self.node_class], watts)
        return np.where(np.isfinite(least), least, 0.0)


class Reaches(NamedTuple):
    """Which classes jobs of one partition and right to borrow may use, own first, then lent."""

    of_job: I64
    class_from: I64
    classes: I64
    capacity: I64
    """Over (job, GPU type): the most GPUs of one node within reach, were it empty."""

    @classmethod
    def of(
        cls, snapshot: Snapshot, machines: AndreasNodeClasses, rows: I64, most: I64
    ) -> "Reaches":
        """`most` is per node of `machines`."""
        jobs, lends = snapshot.jobs, snapshot.partitions.lends
        borrows = jobs.preemptible[rows] & bool(lends.any())
        first, of_job = numbered(jobs.partition[rows], borrows)
        first = first[: len(rows)]
        kinds = len(snapshot.gpu_types)
        lent = np.append(lends, False)[machines.class_partition]
        class_most = np.zeros(len(machines.class_first), np.int64)
        np.maximum.at(class_most, machines.node_class, most)
        starts, found = [0], []
        capacity = np.zeros((len(first), kinds), np.int64)
        for reach, at in enumerate(first.tolist()):
            own = machines.class_partition == jobs.partition[rows[at]]
            for within in (own, lent & ~own & bool(borrows[at])):
                for kind in range(kinds):
                    alike = np.flatnonzero(within & (machines.class_type == kind))
                    found.append(alike)
                    starts.append(starts[-1] + len(alike))
                    best = class_most[alike].max(initial=0)
                    capacity[reach, kind] = max(capacity[reach, kind], best)
        return cls(
            of_job,
            np.array(starts, np.int64),
            np.concatenate(found) if found else np.empty(0, np.int64),
            capacity[of_job],
        )
