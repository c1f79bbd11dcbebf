"""The jobs of a snapshot as a packing sees them: their shapes, needs and holdings."""

import numpy as np

from policies.bench.ledger import gpus_of
from policies.bench.power import limited
from policies.bench.reach import Shape
from policies.bench.shares.needs import Needs
from policies.bench.shares.needs_table import NeedsTable
from policies.bench.shares.packing import Newcomer
from policies.bench.shares.share_ledger import Holding
from policies.contract.snapshot import JobState, NodeState, Snapshot


class JobShares:
    def __init__(self, snapshot: Snapshot, needs_table: NeedsTable) -> None:
        jobs = snapshot.jobs
        self.snapshot = snapshot
        self._needs_table = needs_table
        self._lends = bool(snapshot.partitions.lends.any())
        self._powered = limited(snapshot)
        self.gpus: list[int] = jobs.min_gpus.tolist()
        self.tenant: list[int] = jobs.tenant.tolist()
        self.profile: list[int] = jobs.profile.tolist()
        self.partition: list[int] = jobs.partition.tolist()
        self.gpu_types: list[int] = jobs.gpu_types.tolist()
        self.cpus: list[int] = jobs.cpus_per_gpu.tolist()
        self.mem_mib: list[int] = jobs.mem_mib_per_gpu.tolist()

    def shape(self, row: int) -> Shape:
        """As stated: CPUs and memory that sensitivity decides are not part of it."""
        jobs = self.snapshot.jobs
        return Shape(
            partition=self.partition[row],
            gpu_types=self.gpu_types[row],
            gpus=self.gpus[row],
            cpus_per_gpu=self.cpus[row],
            mem_mib_per_gpu=self.mem_mib[row],
            span=int(jobs.span[row]),
            borrows=self._lends and bool(jobs.preemptible[row]),
            profile=self.profile[row] if self._powered else 0,
        )

    def needs(self, row: int, gpus: int) -> Needs:
        # A plain tuple finds a kind as well, and is made in a third of the time.
        kind = (
            self.profile[row],
            gpus,
            self.partition[row],
            self.gpu_types[row],
            self.cpus[row],
            self.mem_mib[row],
        )
        return self._needs_table.of(kind)

    def newcomer(self, row: int) -> Newcomer:
        gpus = self.gpus[row]
        return Newcomer(row, gpus, self.tenant[row], self.shape(row), self.needs(row, gpus))

    def residents(self) -> list[Holding]:
        """Running jobs on ready nodes; those on others stay as they are."""
        held, jobs = self.snapshot.placements, self.snapshot.jobs
        ready = (self.snapshot.nodes.state == NodeState.READY)[held.node].tolist()
        pieces = held.pieces()
        offset = held.offset.tolist()
        holdings = []
        for row in np.flatnonzero(jobs.state == JobState.RUNNING).tolist():
            first, end = offset[row], offset[row + 1]
            if first < end and all(ready[first:end]):
                mine = pieces[first:end]
                gpus = mine[0][1].bit_count() if end - first == 1 else gpus_of(mine)
                holdings.append(Holding.of(row, self.needs(row, gpus), mine))
        return holdings
