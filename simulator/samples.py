"""Samples taken after rounds: the queue, and how much of what is free would serve it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from policies.contract.columns import F64, I64
from policies.contract.snapshot import JobState, NodeState
from simulator.setting import Setting
from simulator.world import World


@dataclass(frozen=True, slots=True)
class Samples:
    """`free` and `useless` GPUs over (sample, pool), counted only while the pool has a queue.

    A pool is a partition, or the whole cluster without partitions. A free GPU is useless when its
    node has fewer free than the median gang queued for the pool needs there.
    """

    at_s: F64 = field(default_factory=lambda: np.empty(0))
    queued: I64 = field(default_factory=lambda: np.empty(0, np.int64))
    free: I64 = field(default_factory=lambda: np.empty((0, 1), np.int64))
    useless: I64 = field(default_factory=lambda: np.empty((0, 1), np.int64))


class QueueSampler:
    def __init__(self, setting: Setting, every_s: float) -> None:
        nodes, partitions = setting.machines.nodes, setting.machines.partitions
        pooled = not len(partitions)
        self.pools = 1 if pooled else len(partitions)
        self._node_pool: I64 = np.where(pooled, 0, nodes.partition).astype(np.int64)
        self._job_pool: I64 = np.where(pooled, 0, setting.jobs.partition).astype(np.int64)
        self._gang = setting.jobs.gpus
        self._gpus = nodes.gpus.astype(np.int64)
        self._every_s = every_s
        self._due_s = setting.origin_s
        self._rows: list[tuple[float, int, I64, I64]] = []

    def take(self, now_s: float, world: World) -> None:
        if now_s < self._due_s:
            return
        self._due_s = now_s + self._every_s
        queued = world.live_rows()
        queued = queued[world.jobs.state[queued] == JobState.QUEUED]
        ready = world.holdings.node_state == NodeState.READY
        free = world.holdings.free_counts() * ready
        need = self._need(queued)[self._node_pool]
        asked = need > 0
        useless = asked & (free < np.minimum(need, self._gpus))
        self._rows.append(
            (now_s, len(queued), self._by_pool(free * asked), self._by_pool(free * useless))
        )

    def _need(self, queued: I64) -> I64:
        """The median gang that waits for every pool; 0 where none does."""
        need = np.zeros(self.pools + 1, np.int64)
        pool, gang = self._job_pool[queued], self._gang[queued]
        for one in np.unique(pool).tolist():
            waiting = np.sort(gang[pool == one])
            need[one] = waiting[len(waiting) // 2]
        return need

    def _by_pool(self, amount: I64) -> I64:
        inside = self._node_pool >= 0
        counted = np.bincount(self._node_pool[inside], amount[inside], minlength=self.pools)
        return counted.astype(np.int64)

    def samples(self) -> Samples:
        if not self._rows:
            return Samples()
        at_s, queued, free, useless = zip(*self._rows, strict=True)
        return Samples(np.array(at_s), np.array(queued), _stack(free), _stack(useless))


def _stack(rows: Sequence[I64]) -> I64:
    return np.stack(rows)
