"""What the cluster could give if every job were placed anew: GPUs, watts and quotas, by count.

Pools are counted, not mapped: whether blocks lie together is for the placement to find out.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from policies.bench.power import (
    busy_gpu_w,
    host_watts_per_gpu,
    limited,
    node_idle_w,
    partition_budgets_w,
    per_partition,
    piece_watts,
    watts_left,
    watts_per_gpu,
)
from policies.contract.columns import Bool
from policies.contract.plan_columns import Placed
from policies.contract.snapshot import UNLIMITED, JobState, NodeState, Snapshot

PoolKey = tuple[int, int]
"""Partition row and GPU type row."""


class Asleep(NamedTuple):
    """A node on which nothing runs: off, booting, or fit to be switched off."""

    node: int
    gpus: int
    idle_w: float


class Pool:
    """The GPUs of one partition and type that the policy may hand out."""

    def __init__(self, partition: int, kind: int) -> None:
        self.partition = partition
        self.kind = kind
        self.awake = 0
        """GPUs left on nodes that stay on whatever is decided."""
        self.asleep: list[Asleep] = []
        """Nodes that are woken only when needed, the next one last."""
        self.woken: list[Asleep] = []
        self.host_w = 0.0

    def wakes(self, gpus: int) -> int | None:
        """How many more nodes must be woken for so many GPUs; None when there are not enough."""
        missing, count = gpus - self.awake, 0
        while missing > 0:
            count += 1
            if count > len(self.asleep):
                return None
            missing -= self.asleep[-count].gpus
        return count


class PoolRoom:
    """Of the `movable` running jobs GPUs are handed out anew, of the `tuned` ones watts."""

    def __init__(self, snapshot: Snapshot, movable: Bool, tuned: Bool, *, switches: bool) -> None:
        self.snapshot = snapshot
        self.limited = limited(snapshot)
        self.pools: dict[PoolKey, Pool] = {}
        self.idle_w: list[float] = snapshot.gpu_types.idle_w.tolist()
        self._open_pools(movable, switches=switches)
        self._open_watts(tuned)
        self._open_quotas(movable)

    def _open_pools(self, movable: Bool, *, switches: bool) -> None:
        snapshot = self.snapshot
        nodes, held = snapshot.nodes, snapshot.placements
        job = held.job_of_piece()
        count = len(nodes)
        busy = np.zeros(count, np.bool_)
        busy[held.node] = True
        # What stops now is as good as free: it is on its way.
        stopping = snapshot.jobs.state[job] == JobState.STOPPING
        back = movable[job] | stopping
        given = np.bincount(held.node[back], np.bitwise_count(held.gpus[back]), minlength=count)
        free = np.bitwise_count(nodes.free_gpus) + given
        host_w, idle_w = host_watts_per_gpu(snapshot), node_idle_w(snapshot)
        states = (NodeState.READY, NodeState.BOOTING, NodeState.OFF)
        # Ready nodes are used before booting ones, those before dark ones, lower rows first.
        for state in states if switches else states[:1]:
            for node in np.flatnonzero(nodes.state == state).tolist():
                key = (int(nodes.partition[node]), int(nodes.gpu_type[node]))
                pool = self.pools.setdefault(key, Pool(*key))
                pool.host_w = max(pool.host_w, float(host_w[node]))
                if busy[node] or not switches:
                    pool.awake += int(free[node])
                else:
                    gpus = int(np.bitwise_count(nodes.free_gpus[node]))
                    pool.asleep.append(Asleep(node, gpus, float(idle_w[node])))
        for pool in self.pools.values():
            pool.asleep.reverse()

    def _open_watts(self, tuned: Bool) -> None:
        """What is left for tuned jobs, new ones and nodes to be woken."""
        snapshot = self.snapshot
        self.watts_left = math.inf
        self.partition_watts_left = partition_budgets_w(snapshot)
        if not self.limited:
            return
        held, on = snapshot.placements, snapshot.nodes.state != NodeState.OFF
        on[[one.node for pool in self.pools.values() for one in pool.asleep]] = False
        awake = np.flatnonzero(on)
        idle = per_partition(snapshot, awake, node_idle_w(snapshot)[awake])
        watts = piece_watts(snapshot, watts_per_gpu(snapshot))
        watts[tuned[held.job_of_piece()]] = 0.0
        drawn = idle + per_partition(snapshot, held.node.astype(np.int64), watts)
        self.watts_left, self.partition_watts_left = watts_left(snapshot, drawn)

    def _open_quotas(self, movable: Bool) -> None:
        snapshot = self.snapshot
        tenants, held = snapshot.tenants, Placed.held(snapshot)
        given = held.only(movable[held.job]).per_tenant_and_type(snapshot)
        total = tenants.quota_gpus - tenants.used_gpus + given.sum(axis=1)
        by_type = tenants.quota_by_type - tenants.used_by_type + given
        left = np.where(tenants.quota_gpus == UNLIMITED, np.inf, total)
        type_left = np.where(tenants.quota_by_type == UNLIMITED, np.inf, by_type)
        self.quota_left: list[float] = left.tolist()
        self.type_quota_left: list[list[float]] = type_left.tolist()

    def added_w(self, pool: Pool, gpus: int, gpu_w: float) -> float:
        """What busy GPUs add to their idle nodes."""
        return gpus * busy_gpu_w(gpu_w, self.idle_w[pool.kind], pool.host_w)

    def pool(self, partition: int, kind: int) -> Pool:
        """The pool, empty where no node of it can be used."""
        key = (partition, kind)
        if key not in self.pools:
            self.pools[key] = Pool(*key)
        return self.pools[key]

    def draw(self, pool: Pool, watts: float) -> None:
        """Count watts that are drawn whether there is room for them or not."""
        self.watts_left -= watts
        self.partition_watts_left[pool.partition] -= watts

    def take(self, pool: Pool, tenant: int, gpus: int, watts: float) -> bool:
        """Take so many more GPUs and watts, waking nodes as needed, or take nothing."""
        if gpus > self.quota_left[tenant] or gpus > self.type_quota_left[tenant][pool.kind]:
            return False
        wakes = pool.wakes(gpus) if gpus else 0
        if wakes is None:
            return False
        waking: Sequence[Asleep] = pool.asleep[len(pool.asleep) - wakes :]
        if self.limited:
            watts += sum(one.idle_w for one in waking)
            if watts > min(self.watts_left, self.partition_watts_left[pool.partition]):
                return False
            self.draw(pool, watts)
        if wakes:
            del pool.asleep[len(pool.asleep) - wakes :]
            pool.woken += waking
            pool.awake += sum(one.gpus for one in waking)
        pool.awake -= gpus
        self.quota_left[tenant] -= gpus
        self.type_quota_left[tenant][pool.kind] -= gpus
        return True
