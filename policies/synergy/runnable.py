"""Who runs in the coming round: jobs in order, as long as their GPUs fit, counting GPUs alone."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from policies.bench.bits import members
from policies.bench.ledger import Ledger
from policies.bench.reach import Shape
from policies.contract.columns import I64, Bool
from policies.contract.snapshot import UNLIMITED, NodeState

Pool = tuple[int, int]
"""Partition row and GPU type."""


@dataclass(slots=True)
class Runnable:
    """Job rows: `chosen` start, `outside` should stop, `behind` may have what is left over."""

    chosen: list[int] = field(default_factory=list)
    outside: list[int] = field(default_factory=list)
    behind: list[int] = field(default_factory=list)


class RunnableSearch:
    def __init__(self, ledger: Ledger, shape_of: Callable[[int], Shape]) -> None:
        snapshot = ledger.snapshot
        self.ledger = ledger
        self._shape_of = shape_of
        self._possible: dict[Shape, bool] = {}
        self._tenant: list[int] = snapshot.jobs.tenant.tolist()
        self._home: list[int] = snapshot.jobs.partition.tolist()
        self._quota = ledger.quota.copy()
        self._quota_by_type = [row.copy() for row in ledger.quota_by_type]
        self._lent = bool(snapshot.partitions.lends.any())
        self._held = self._held_by_job()
        self._left = self._capacity()
        self._room = sum(self._left.values())

    def _held_by_job(self) -> dict[int, list[tuple[Pool, int]]]:
        """GPUs that jobs hold on ready nodes; others are no room for anybody."""
        snapshot = self.ledger.snapshot
        held, nodes = snapshot.placements, snapshot.nodes
        found: dict[int, list[tuple[Pool, int]]] = defaultdict(list)
        for job, partition, kind, state, gpus in zip(
            held.job_of_piece().tolist(),
            nodes.partition[held.node].tolist(),
            nodes.gpu_type[held.node].tolist(),
            nodes.state[held.node].tolist(),
            np.bitwise_count(held.gpus).tolist(),
            strict=True,
        ):
            if state == NodeState.READY:
                found[job].append(((partition, kind), gpus))
        return found

    def _capacity(self) -> dict[Pool, int]:
        """All that is free or held, since whoever holds it has to be chosen like anybody else."""
        left = {
            pool: sum(count * index.by_count[count].bit_count() for count in members(index.counts))
            for pool, index in self.ledger.indexes.items()
        }
        for pieces in self._held.values():
            for pool, gpus in pieces:
                left[pool] += gpus
        return left

    def choose(self, order: I64, running: Bool, fixed: Bool) -> Runnable:
        """`order` ranks running and queued jobs alike; `fixed` ones run whatever their rank."""
        result = Runnable()
        rows: list[int] = order.tolist()
        is_running, is_fixed = running.tolist(), fixed.tolist()
        guests: list[int] = []
        for row in np.flatnonzero(fixed).tolist():
            self._keep(row)
        for row in rows:
            if not is_running[row]:
                (result.chosen if self._admit(row) else result.behind).append(row)
            elif is_fixed[row]:
                continue
            elif self._lent and self._is_guest(row):
                guests.append(row)
            elif not self._stay(row):
                result.outside.append(row)
        result.outside += [row for row in guests if not self._stay(row)]
        return result

    def _is_guest(self, row: int) -> bool:
        """Guests have what owners leave."""
        return any(pool[0] != self._home[row] for pool, _ in self._held[row])

    def _stay(self, row: int) -> bool:
        for pool, gpus in self._held[row]:
            if self._left[pool] < gpus:
                return False
        self._keep(row)
        return True

    def _keep(self, row: int) -> None:
        for pool, gpus in self._held[row]:
            self._take(row, pool, gpus)

    def _admit(self, row: int) -> bool:
        if not self._room:
            return False
        shape, tenant = self._shape_of(row), self._tenant[row]
        quota, by_type = self._quota[tenant], self._quota_by_type[tenant]
        if quota != UNLIMITED and quota < shape.gpus:
            return False
        for kind in members(shape.gpu_types & (1 << len(by_type)) - 1):
            pool = (shape.partition, kind)
            within = by_type[kind] == UNLIMITED or by_type[kind] >= shape.gpus
            if within and self._left.get(pool, 0) >= shape.gpus and self._is_possible(shape):
                self._take(row, pool, shape.gpus)
                return True
        return False

    def _take(self, row: int, pool: Pool, gpus: int) -> None:
        tenant, kind = self._tenant[row], pool[1]
        self._left[pool] -= gpus
        self._room -= gpus
        if self._quota[tenant] != UNLIMITED:
            self._quota[tenant] = max(self._quota[tenant] - gpus, 0)
        if self._quota_by_type[tenant][kind] != UNLIMITED:
            left = self._quota_by_type[tenant][kind] - gpus
            self._quota_by_type[tenant][kind] = max(left, 0)

    def _is_possible(self, shape: Shape) -> bool:
        """A job that could not start on an empty cluster must not keep others from starting."""
        if shape not in self._possible:
            self._possible[shape] = self.ledger.atlas.structural_reason(shape) is None
        return self._possible[shape]
