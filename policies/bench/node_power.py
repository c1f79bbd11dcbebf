"""Nodes off and on: which may go off, and which queued work wakes, whatever the policy."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from policies.bench.ledger import Ask, Ledger
from policies.bench.power import node_idle_w
from policies.bench.reach import Atlas, Shape, shapes_of
from policies.bench.ways import pools
from policies.contract.columns import I64, Bool
from policies.contract.snapshot import JobState, NodeState, NodeTable, Snapshot

_COMING = (NodeState.READY, NodeState.BOOTING, NodeState.OFF)


def may_sleep(snapshot: Snapshot) -> Bool:
    """Nodes that the operator lets go off: ready and empty, and so for long enough."""
    nodes = snapshot.nodes
    if not snapshot.power_off:
        return np.zeros(len(nodes), np.bool_)
    busy = np.zeros(len(nodes), np.bool_)
    busy[snapshot.placements.node] = True
    long_idle = snapshot.now_s - nodes.idle_since_s >= snapshot.min_idle_s
    return np.asarray((nodes.state == NodeState.READY) & ~busy & long_idle, np.bool_)


def in_demand(snapshot: Snapshot, rows: I64) -> Bool:
    """By pool, whether any of the job `rows` may use its nodes."""
    nodes, atlas = snapshot.nodes, Atlas(snapshot)
    pool = pools(snapshot, nodes.partition, nodes.gpu_type)
    wanted = np.zeros((len(snapshot.partitions) + 1) * len(snapshot.gpu_types), np.bool_)
    for shape in shapes_of(snapshot, rows)[0]:
        wanted[pool[atlas.reach(shape).typed]] = True
    return wanted


def ready_nodes(snapshot: Snapshot, off: Bool) -> I64:
    """By pool, how many nodes are ready once those in `off` are not."""
    nodes = snapshot.nodes
    pool = pools(snapshot, nodes.partition, nodes.gpu_type)
    stays = (nodes.state == NodeState.READY) & ~off
    number = (len(snapshot.partitions) + 1) * len(snapshot.gpu_types)
    return np.bincount(pool[stays], minlength=number)


class SleepRules:
    """What may go off in one round: of a pool that queued work may need, all but one ready node."""

    def __init__(
        self, snapshot: Snapshot, placed: Iterable[int], switched: Mapping[int, bool]
    ) -> None:
        nodes = snapshot.nodes
        waiting = snapshot.jobs.state == JobState.QUEUED
        waiting[list(placed)] = False
        off = np.zeros(len(nodes), np.bool_)
        off[[node for node, on in switched.items() if not on]] = True
        self._able: list[bool] = may_sleep(snapshot).tolist()
        self._pool: list[int] = pools(snapshot, nodes.partition, nodes.gpu_type).tolist()
        self._wanted: list[bool] = in_demand(snapshot, np.flatnonzero(waiting)).tolist()
        self._ready: list[int] = ready_nodes(snapshot, off).tolist()

    def allow(self, node: int) -> bool:
        """Whether the node may go off besides those that were allowed to before."""
        pool = self._pool[node]
        if not self._able[node] or (self._wanted[pool] and self._ready[pool] <= 1):
            return False
        self._ready[pool] -= 1
        return True


def nodes_to_wake(ledger: Ledger, woken: Container[int], rows: I64) -> list[int]:
    """Nodes that are off and on which the waiting job `rows`, in their order, would have room.

    What is free, boots, or is in `woken` already comes first; quotas and budgets hold.
    """
    off = np.flatnonzero(ledger.snapshot.nodes.state == NodeState.OFF).tolist()
    dark = [node for node in off if node not in woken]
    return list(_Waking(ledger, dark).run(rows)) if dark and len(rows) else []


class _Waking:
    """A ledger in which nodes that are off have nothing free until they are lit."""

    def __init__(self, ledger: Ledger, dark: Sequence[int]) -> None:
        self.dark = dict.fromkeys(dark)
        self._masks = ledger.free
        self._idle_w: list[float] = node_idle_w(ledger.snapshot).tolist()
        self._able: dict[tuple[Shape, int], list[int]] = {}
        self.ledger = _as_if_on(ledger, dark)

    def run(self, rows: I64) -> Iterator[int]:
        snapshot, ledger = self.ledger.snapshot, self.ledger
        shapes, shape_of = shapes_of(snapshot, rows)
        like = dict(zip(reversed(shape_of), reversed(rows.tolist()), strict=True))
        asks = [ledger.ask(shape, like_job=like[at]) for at, shape in enumerate(shapes)]
        closed = [ledger.atlas.structural_reason(shape) is not None for shape in shapes]
        for at, tenant in zip(shape_of, snapshot.jobs.tenant[rows].tolist(), strict=True):
            types = () if closed[at] else ledger.types_within_quota(tenant, asks[at])
            if not types or self._place(shapes[at], asks[at], tenant, types):
                continue
            lit = self._light_for(shapes[at], asks[at], tenant, types)
            # Room only shrinks, so that a shape which found none finds none later.
            closed[at] = not lit and types is asks[at].types
            yield from lit
            if not self.dark:
                return

    def _place(self, shape: Shape, ask: Ask, tenant: int, types: tuple[int, ...]) -> list[int]:
        """The nodes that the job takes, none where it finds no room."""
        hold = self.ledger.try_place(ask, tenant, types)
        if hold is None and shape.borrows:
            hold = self.ledger.try_place(ask, tenant, types, borrow=True)
        return [] if hold is None else [node for node, *_ in hold.pieces]

    def _light_for(self, shape: Shape, ask: Ask, tenant: int, types: tuple[int, ...]) -> list[int]:
        """The nodes that make room for one more job; none where all of them do not."""
        mark = self.ledger.keep_journal()
        for kind in types:
            for node in self._candidates(shape, ask, kind):
                if not self._light(node):
                    continue
                taken = self._place(shape, ask, tenant, (kind,))
                used = [one for one in taken if one in self.dark]
                if taken:
                    # Those that were lit on the way, and are not needed, stay off.
                    self.ledger.undo(mark)
                    for one in used:
                        self._light(one)
                        del self.dark[one]
                    self._place(shape, ask, tenant, (kind,))
                    return used
            self.ledger.undo(mark)
        return []

    def _candidates(self, shape: Shape, ask: Ask, kind: int) -> Iterator[int]:
        """Of those that the job may use, the nodes on which it fits alone; else all with room."""
        able = self._able.get((shape, kind))
        if able is None:
            typed = self.ledger.atlas.reach(shape).typed
            ours = [n for n in self.dark if typed[n] and self.ledger.gpu_type[n] == kind]
            cpus, mem_mib = self.ledger.cpus, self.ledger.mem_mib
            room = [ask.room(self._masks[n].bit_count(), cpus[n], mem_mib[n]) for n in ours]
            least = ask.gpus if max(room, default=0) >= ask.gpus else 1
            able = [node for node, count in zip(ours, room, strict=True) if count >= least]
            able.reverse()
            self._able[shape, kind] = able
        while able and able[-1] not in self.dark:
            able.pop()
        return (node for node in reversed(able) if node in self.dark)

    def _light(self, node: int) -> bool:
        """Count the node as on, if the watts that it idles at are left."""
        if self.ledger.watts_per_gpu is not None:
            if self.ledger.spare_w(node) < self._idle_w[node]:
                return False
            self.ledger.draw(node, self._idle_w[node])
        self.ledger.give([(node, self._masks[node], 0, 0)])
        return True


def _as_if_on(ledger: Ledger, dark: Sequence[int]) -> Ledger:
    """What the round leaves, as if all nodes that are on their way were there."""
    snapshot = ledger.snapshot
    free = np.array(ledger.free, np.uint64)
    free[list(dark)] = 0
    on = np.isin(snapshot.nodes.state, _COMING)
    nodes = NodeTable.of(
        **{
            **dict(snapshot.nodes.columns()),
            "state": np.where(on, NodeState.READY, snapshot.nodes.state),
            "free_gpus": free,
            "free_cpus": ledger.cpus,
            "free_mem_mib": ledger.mem_mib,
        }
    )
    then = Ledger(replace(snapshot, nodes=nodes), ledger.strategy, keeps_blocks=ledger.keeps_blocks)
    then.used, then.used_by_type = list(ledger.used), [list(used) for used in ledger.used_by_type]
    then.watts_left = ledger.watts_left
    then.partition_watts_left = list(ledger.partition_watts_left)
    return then
