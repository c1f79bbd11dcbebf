"""GPUs, CPUs, memory and watts that work being stopped will give back, not free yet."""

import numpy as np

from policies.bench.bits import buddy_take, lowest_bits
from policies.bench.ledger import Ask, Ledger, RowPiece
from policies.bench.power import piece_watts
from policies.contract.columns import F64, I64
from policies.contract.snapshot import JobState

# Enum members are slow to look up, and this is asked every round.
_STOPPING = int(JobState.STOPPING)


class Releasing:
    def __init__(self, ledger: Ledger) -> None:
        snapshot = ledger.snapshot
        self.ledger = ledger
        nodes = len(snapshot.nodes)
        self.gpus = [0] * nodes
        self.began = False
        """Whether anything at all was counted as on its way."""
        self.nodes: set[int] = set()
        """Where GPUs are coming that nobody has been promised."""
        self.cpus = [0] * nodes
        self.mem_mib = [0] * nodes
        self.watts = 0.0
        self.partition_watts = [0.0] * (len(snapshot.partitions) + 1)
        self.job_watts: F64 = np.zeros(len(snapshot.jobs))
        if ledger.watts_per_gpu is not None:
            each_w = piece_watts(snapshot, ledger.watts_per_gpu)
            np.add.at(self.job_watts, snapshot.placements.job_of_piece(), each_w)
            self._piece_watts: list[float] = each_w.tolist()
        for row in np.flatnonzero(snapshot.jobs.state == _STOPPING).tolist():
            self.add(row)

    def add(self, row: int) -> list[int]:
        """Count what job `row` holds as on its way; returns the nodes concerned."""
        self.began = True
        held = self.ledger.snapshot.placements
        pieces = range(int(held.offset[row]), int(held.offset[row + 1]))
        nodes = [int(held.node[piece]) for piece in pieces]
        for piece, node in zip(pieces, nodes, strict=True):
            self.gpus[node] |= int(held.gpus[piece])
            self.nodes.add(node)
            self.cpus[node] += int(held.cpus[piece])
            self.mem_mib[node] += int(held.mem_mib[piece])
            if self.ledger.watts_per_gpu is not None:
                self.partition_watts[self.ledger.partition[node]] += self._piece_watts[piece]
        self.watts += float(self.job_watts[row])
        return nodes

    def piece_watts_in(self, rows: list[int], partition: int) -> float:
        """Watts that jobs draw on the nodes of a partition."""
        held, ours = self.ledger.snapshot.placements, self.ledger.partition
        return sum(
            self._piece_watts[piece]
            for row in rows
            for piece in range(int(held.offset[row]), int(held.offset[row + 1]))
            if ours[int(held.node[piece])] == partition
        )

    def mask(self, node: int) -> int:
        """GPUs of `node` that are free or will be."""
        return self.ledger.free[node] | self.gpus[node]

    def soon(self) -> I64:
        """By node, how many GPUs are free or will be."""
        masks = np.array(self.ledger.free, np.uint64)
        if self.nodes:
            masks |= np.array(self.gpus, np.uint64)
        return np.bitwise_count(masks).astype(np.int64)

    def room(self, node: int, ask: Ask, gpus: int = 0, cpus: int = 0, mem_mib: int = 0) -> int:
        """How many GPUs of `ask` the node will have room for, with so much more."""
        ledger = self.ledger
        return ask.room(
            self.mask(node).bit_count() + gpus,
            ledger.cpus[node] + self.cpus[node] + cpus,
            ledger.mem_mib[node] + self.mem_mib[node] + mem_mib,
        )

    def set_aside(self, node: int, ask: Ask, gpus: int) -> RowPiece:
        """Promise room for `gpus` GPUs, from what is on its way first; returns the free part."""
        if self.ledger.keeps_blocks:
            block = buddy_take(self.mask(node), self.ledger.gpus[node], gpus)
            coming, free = block & self.gpus[node], block & ~self.gpus[node]
        else:
            coming = lowest_bits(self.gpus[node], min(gpus, self.gpus[node].bit_count()))
            free = lowest_bits(self.ledger.free[node], gpus - coming.bit_count())
        cpus = min(ask.cpus * gpus, self.cpus[node])
        mem_mib = min(ask.mem_mib * gpus, self.mem_mib[node])
        self.gpus[node] ^= coming
        if not self.gpus[node]:
            self.nodes.discard(node)
        self.cpus[node] -= cpus
        self.mem_mib[node] -= mem_mib
        return (node, free, ask.cpus * gpus - cpus, ask.mem_mib * gpus - mem_mib)
