"""Nodes of one width on some of which single-GPU jobs run: what made-up snapshots share."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from policies.contract.columns import I64
from policies.contract.snapshot import NodeTable, Placements

GPUS = 8


@dataclass(frozen=True)
class OccupiedNodes:
    """`slots` has the GPU of every running job, numbered through all nodes."""

    count: int
    slots: I64
    cpus: int = 64
    mem_mib: int = 512_000
    job_cpus: int = 0
    job_mem_mib: int = 0
    """What a running job holds beside its GPU."""
    gpus: int = GPUS
    """Of every node."""

    @classmethod
    def drawn(
        cls, random: np.random.Generator, count: int, running: int, **held: int
    ) -> "OccupiedNodes":
        return cls(count, random.permutation(count * GPUS)[:running], **held)

    @property
    def node(self) -> I64:
        """Of every running job."""
        return self.slots // self.gpus

    @property
    def _mask(self) -> Any:
        return np.uint64(1) << (self.slots % self.gpus).astype(np.uint64)

    def placements(self, jobs: int) -> Placements:
        """The running ones are the first of so many jobs."""
        running = len(self.slots)
        return Placements.of(
            offset=np.minimum(np.arange(jobs + 1), running),
            node=self.node,
            gpus=self._mask,
            cpus=np.full(running, self.job_cpus),
            mem_mib=np.full(running, self.job_mem_mib),
        )

    def table(self, **columns: Any) -> NodeTable:
        """All of one GPU type, unless `columns` say otherwise."""
        used = np.bincount(self.node, minlength=self.count)
        free = np.full(self.count, (1 << self.gpus) - 1, np.uint64)
        np.bitwise_and.at(free, self.node, ~self._mask)
        return NodeTable.of(
            **{
                "id": np.arange(self.count) + 1,
                "gpu_type": np.zeros(self.count),
                "gpus": np.full(self.count, self.gpus),
                "free_gpus": free,
                "cpus": np.full(self.count, self.cpus),
                "free_cpus": self.cpus - self.job_cpus * used,
                "mem_mib": np.full(self.count, self.mem_mib),
                "free_mem_mib": self.mem_mib - self.job_mem_mib * used,
                **columns,
            }
        )
