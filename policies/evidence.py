"""Evidence for one shape of job that waits: where it looked, what was short, what would help."""

from collections.abc import Iterator

import numpy as np

from policies.columns import I64, Bool
from policies.ledger import Ledger
from policies.reach import Shape, fits_together, of_allowed_type, reachable, room
from policies.reasons import Evidence, Reason, Remedy
from policies.snapshot import NodeState, Span

_STATE_NAMES = {
    NodeState.DRAINING: "draining",
    NodeState.OFF: "off",
    NodeState.UNAVAILABLE: "unavailable",
}


class Examiner:
    """Looks at the ledger as the round leaves it."""

    def __init__(self, ledger: Ledger) -> None:
        self.snapshot = ledger.snapshot
        self.ledger = ledger
        self.free: I64 = np.array([mask.bit_count() for mask in ledger.free], np.int64)
        self.cpus: I64 = np.array(ledger.cpus, np.int64)
        self.mem_mib: I64 = np.array(ledger.mem_mib, np.int64)
        self.ready: Bool = self.snapshot.nodes.state == NodeState.READY

    def room(self, shape: Shape) -> I64:
        return room(self.free, self.cpus, self.mem_mib, shape)

    def usable(self, shape: Shape) -> Bool:
        in_reach = reachable(self.snapshot, shape)
        return in_reach & of_allowed_type(self.snapshot, shape) & self.ready

    def passing_reason(self, shape: Shape) -> Reason:
        """Why a shape that is not structurally impossible found no place in this round."""
        count, usable = self.room(shape), self.usable(shape)
        if fits_together(self.snapshot, shape, count, usable, shape.span):
            return Reason.POWER if self.watts_short(shape) > 0 else Reason.OUTRANKED
        if shape.span != Span.ANY and fits_together(self.snapshot, shape, count, usable, Span.ANY):
            return Reason.TOPOLOGY
        return Reason.OUTRANKED

    def watts_short(self, shape: Shape) -> float:
        """Watts missing to start the shape where it draws the least; 0 when there are enough."""
        ledger = self.ledger
        if ledger.watts_per_gpu is None:
            return 0.0
        has_room = np.flatnonzero(self.usable(shape) & (self.room(shape) > 0))
        same = np.flatnonzero(self.snapshot.jobs.profile == shape.profile)
        if not len(has_room) or not len(same):
            return 0.0
        each = ledger.watts_per_gpu[same[0]]
        least = min(
            each[t] - ledger.idle_w[t] + ledger.host_w[node]
            for node, t in ((n, ledger.gpu_type[n]) for n in has_room.tolist())
        )
        return max(0.0, float(least) * shape.gpus - ledger.watts_left)

    def evidence(self, shape: Shape, reason: Reason) -> Evidence:
        nodes = self.snapshot.nodes
        in_reach = reachable(self.snapshot, shape)
        typed = in_reach & of_allowed_type(self.snapshot, shape)
        usable = typed & self.ready
        filtered = {
            "partition": int((~in_reach).sum()),
            "gpu_type": int((in_reach & ~typed).sum()),
        }
        for state, name in _STATE_NAMES.items():
            filtered[name] = int((typed & (nodes.state == state)).sum())
        return Evidence(
            nodes=len(nodes),
            filtered={name: count for name, count in filtered.items() if count},
            exhausted=self._exhausted(shape, usable),
            facts={"gpus_asked": shape.gpus},
            remedies=tuple(self._remedies(shape, reason)),
        )

    def _exhausted(self, shape: Shape, usable: Bool) -> dict[str, int]:
        nodes = self.snapshot.nodes
        largest = int(nodes.gpus[usable].max()) if usable.any() else 0
        # A gang that no node could hold takes any node with room for one GPU.
        need = shape.gpus if shape.gpus <= largest else 1
        lacks_gpus = usable & (self.free < need)
        lacks_cpus = usable & ~lacks_gpus & (self.cpus < need * shape.cpus_per_gpu)
        lacks_memory = (
            usable & ~lacks_gpus & ~lacks_cpus & (self.mem_mib < need * shape.mem_mib_per_gpu)
        )
        counts = {
            "gpus": int(lacks_gpus.sum()),
            "cpus": int(lacks_cpus.sum()),
            "memory": int(lacks_memory.sum()),
        }
        return {name: count for name, count in counts.items() if count}

    def _remedies(self, shape: Shape, reason: Reason) -> Iterator[Remedy]:
        count, usable = self.room(shape), self.usable(shape)
        if reason is Reason.POWER:
            yield from self._power_remedies(shape)
            return
        if reason is Reason.TOPOLOGY:
            yield from self._wider(shape, count, usable)
        if reason is Reason.NODES_UNAVAILABLE:
            yield from self._node_to_ready(shape)
        if self.fits(shape, count, usable):
            return
        yield from self._fewer_gpus(shape, count, usable)
        yield from self._leaner(shape, usable)
        yield from self._other_types(shape)
        yield from self._other_partitions(shape)
        if not shape.borrows and self.fits(shape._replace(borrows=True), count):
            yield Remedy("allow_preemption")

    def fits(self, shape: Shape, count: I64, usable: Bool | None = None) -> bool:
        here = self.usable(shape) if usable is None else usable
        return fits_together(self.snapshot, shape, count, here, shape.span)

    def _wider(self, shape: Shape, count: I64, usable: Bool) -> Iterator[Remedy]:
        for span in Span:
            if span > shape.span and fits_together(self.snapshot, shape, count, usable, span):
                yield Remedy("widen_span", name=span.name.lower())
                return

    def _fewer_gpus(self, shape: Shape, count: I64, usable: Bool) -> Iterator[Remedy]:
        largest = int(count[usable].max()) if usable.any() else 0
        if 0 < largest < shape.gpus:
            yield Remedy("reduce_gpus", to=largest)

    def _leaner(self, shape: Shape, usable: Bool) -> Iterator[Remedy]:
        """Nodes with enough GPUs that only lack CPUs or memory."""
        enough = usable & (self.free >= shape.gpus)
        if not enough.any():
            return
        cpus = int(self.cpus[enough].max()) // shape.gpus
        if cpus < shape.cpus_per_gpu and self.fits(
            leaner := shape._replace(cpus_per_gpu=cpus), self.room(leaner), usable
        ):
            yield Remedy("reduce_cpus_per_gpu", to=cpus)
        mem_mib = int(self.mem_mib[enough].max()) // shape.gpus
        if mem_mib < shape.mem_mib_per_gpu and self.fits(
            leaner := shape._replace(mem_mib_per_gpu=mem_mib), self.room(leaner), usable
        ):
            yield Remedy("reduce_mem_mib_per_gpu", to=mem_mib)

    def _other_types(self, shape: Shape) -> Iterator[Remedy]:
        for gpu_type, name in enumerate(self.snapshot.gpu_types.name):
            if not shape.gpu_types >> gpu_type & 1:
                other = shape._replace(gpu_types=1 << gpu_type)
                if self.fits(other, self.room(other)):
                    yield Remedy("allow_gpu_type", name=name)

    def _other_partitions(self, shape: Shape) -> Iterator[Remedy]:
        for partition, name in enumerate(self.snapshot.partitions.name):
            if partition != shape.partition:
                other = shape._replace(partition=partition, borrows=False)
                if self.fits(other, self.room(other)):
                    yield Remedy(
                        "move_to_partition",
                        name=name,
                        id=int(self.snapshot.partitions.id[partition]),
                    )

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
        in_reach = reachable(self.snapshot, shape) & of_allowed_type(self.snapshot, shape)
        for node in np.flatnonzero(in_reach & (nodes.state == state))[:1].tolist():
            yield Remedy(action, id=int(nodes.id[node]))
