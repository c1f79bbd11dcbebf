"""The jobs of a snapshot as a packing sees them: their shapes, appetites and seats."""

import numpy as np

from policies.reach import Shape
from policies.snapshot import NodeState, Snapshot
from policies.synergy.appetite import Appetite
from policies.synergy.book import Seat
from policies.synergy.packing import Newcomer
from policies.synergy.table import Appetites, Kind


class Roster:
    def __init__(self, snapshot: Snapshot, appetites: Appetites) -> None:
        jobs = snapshot.jobs
        self.snapshot = snapshot
        self._appetites = appetites
        self._lends = bool(snapshot.partitions.lends.any())
        self._powered = bool(np.isfinite(snapshot.power_budget_w))
        self.gpus: list[int] = jobs.min_gpus.tolist()
        self.tenant: list[int] = jobs.tenant.tolist()

    def shape(self, row: int) -> Shape:
        """As stated: CPUs and memory that sensitivity decides are not part of it."""
        jobs = self.snapshot.jobs
        return Shape(
            partition=int(jobs.partition[row]),
            gpu_types=int(jobs.gpu_types[row]),
            gpus=self.gpus[row],
            cpus_per_gpu=int(jobs.cpus_per_gpu[row]),
            mem_mib_per_gpu=int(jobs.mem_mib_per_gpu[row]),
            span=int(jobs.span[row]),
            borrows=self._lends and bool(jobs.preemptible[row]),
            profile=int(jobs.profile[row]) if self._powered else 0,
        )

    def appetite(self, row: int, gpus: int) -> Appetite:
        jobs = self.snapshot.jobs
        return self._appetites.of(
            Kind(
                profile=int(jobs.profile[row]),
                gpus=gpus,
                partition=int(jobs.partition[row]),
                gpu_types=int(jobs.gpu_types[row]),
                cpus=int(jobs.cpus_per_gpu[row]),
                mem_mib=int(jobs.mem_mib_per_gpu[row]),
            )
        )

    def newcomer(self, row: int) -> Newcomer:
        gpus = self.gpus[row]
        return Newcomer(row, gpus, self.tenant[row], self.shape(row), self.appetite(row, gpus))

    def residents(self) -> list[Seat]:
        """Running jobs on ready nodes; those on others stay as they are."""
        held, jobs = self.snapshot.placements, self.snapshot.jobs
        ready = (self.snapshot.nodes.state == NodeState.READY)[held.node].tolist()
        pieces = list(
            zip(
                held.node.tolist(),
                held.gpus.tolist(),
                held.cpus.tolist(),
                held.mem_mib.tolist(),
                strict=True,
            )
        )
        offset = held.offset.tolist()
        seats = []
        for row in np.flatnonzero(jobs.state == 1).tolist():
            first, end = offset[row], offset[row + 1]
            if first < end and all(ready[first:end]):
                mine = pieces[first:end]
                gpus = sum(mask.bit_count() for _, mask, _, _ in mine)
                seats.append(Seat(row, gpus, self.appetite(row, gpus), mine))
        return seats
