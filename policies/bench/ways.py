"""The ways in which jobs could run: GPU type, count and clock, with their time and watts."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from policies.contract.columns import F64, I32, I64, Bool
from policies.contract.snapshot import Snapshot


class WayColumns(NamedTuple):
    """Some ways, of jobs by their number among the rows asked for, as they were told."""

    job: I64
    gpu_type: I64
    gpus: I64
    clock_mhz: I32
    run_s: F64
    gpu_w: F64
    """Of one GPU."""

    @classmethod
    def none(cls) -> "WayColumns":
        whole, real = np.empty(0, np.int64), np.empty(0)
        return cls(whole, whole, whole, np.empty(0, np.int32), real, real)

    def beside(self, other: "WayColumns") -> "WayColumns":
        both: Iterator[Any] = zip(self, other, strict=True)
        return WayColumns._make(np.concatenate(each) for each in both)

    def only(self, which: Bool | I64) -> "WayColumns":
        return WayColumns._make(values[which] for values in self)

    def permitted(self, snapshot: Snapshot, rows: I64) -> "WayColumns":
        """What jobs allow of it: their GPU types, and from their fewest GPUs to their most."""
        jobs, row = snapshot.jobs, rows[self.job]
        typed = (jobs.gpu_types[row] >> self.gpu_type.astype(np.uint64)) & np.uint64(1)
        within = (self.gpus >= jobs.min_gpus[row]) & (self.gpus <= jobs.max_gpus[row])
        return self.only(within & (typed > 0))


class Ways(NamedTuple):
    """Ragged: job `j` has the ways `first[j]:first[j + 1]`.

    `watts` is what a way adds to the cluster's draw; a pool is a GPU type within a partition. The
    way that `stays` is what a running job has already; the others have its restart in `run_s`.
    """

    first: I64
    pool: I64
    gpu_type: I64
    gpus: I64
    clock_mhz: I32
    run_s: F64
    watts: F64
    stays: Bool

    def job(self) -> I64:
        return np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))

    def least(self, values: F64) -> F64:
        """The least of every job's ways."""
        if not len(values):
            return np.empty(0)
        return np.asarray(np.minimum.reduceat(values, self.first[:-1]), np.float64)


def pools(snapshot: Snapshot, partition: I32, gpu_type: I32 | I64) -> I64:
    """The number of a GPU type within a partition; nodes in no partition have the last ones."""
    home = np.where(partition < 0, len(snapshot.partitions), partition)
    return np.asarray(home * len(snapshot.gpu_types) + gpu_type, np.int64)


def relative_speed(snapshot: Snapshot, rows: I64, cpus: F64 | I32 | I64, mem_mib: F64 | I64) -> F64:
    """At the largest measured CPUs and memory per GPU that a job has; nan where none was."""
    table = snapshot.profiles
    at_cpus = np.searchsorted(table.cpus_per_gpu, cpus, side="right") - 1
    at_mem = np.searchsorted(table.mem_mib_per_gpu, mem_mib, side="right") - 1
    profile = snapshot.jobs.profile[rows]
    return np.asarray(
        table.relative_speed[profile, at_cpus.clip(min=0), at_mem.clip(min=0)], np.float64
    )
