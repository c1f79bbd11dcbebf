"""Fitted models and measured points of a round's profiles become the tensors that policies read."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from clusters.models import GpuType
from jobs.profiling.knowledge import applications
from jobs.profiling.performance.application import Application
from jobs.profiling.tensors import profile_table as table_of
from policies.contract.snapshot import ProfileTable

# Where speed is given over CPUs and memory per GPU, if anybody in the queue depends on them.
CPUS = (*range(1, 11), 12, 16, 24, 32, 48, 64)
MEM_MIB = tuple(1024 * gib for gib in (4, 8, 16, 32, 64, 128, 256, 512))
MOST_COUNTS = 64


def profile_table(
    ids: npt.NDArray[np.int64], gpu_types: Sequence[GpuType], asked_gpus: npt.NDArray[np.int64]
) -> ProfileTable:
    """`asked_gpus` are numbers of GPUs that some job may get: models answer for each of them."""
    known = applications([int(i) for i in ids if i > 0])
    # A profile of which nothing is known says no more than none.
    known = {pk: one for pk, one in sorted(known.items()) if not one.neutral}
    if not known:
        return ProfileTable.none(len(gpu_types))
    sensitive = any(one.sensitivity is not None for one in known.values())
    return table_of(
        list(known),
        list(known.values()),
        [kind.name for kind in gpu_types],
        gpu_counts=_counts(list(known.values()), asked_gpus),
        clocks_mhz=_clock_grid(gpu_types),
        cpus_per_gpu=CPUS if sensitive else (),
        mem_mib_per_gpu=MEM_MIB if sensitive else (),
    )


def _counts(known: Sequence[Application], asked_gpus: npt.NDArray[np.int64]) -> list[int]:
    """Those that were measured and, where models can tell, those that are asked for."""
    behaviours = [behaviour for one in known for behaviour in one.behaviours.values()]
    counts = {point.gpus for behaviour in behaviours for point in behaviour.points}
    if any(behaviour.throughput is not None for behaviour in behaviours):
        asked = np.unique(asked_gpus[asked_gpus > 0])
        most = int(asked.max(initial=1))
        counts |= {1 << bit for bit in range(most.bit_length())} | set(asked[:MOST_COUNTS].tolist())
    return sorted(counts)


def _clock_grid(gpu_types: Sequence[GpuType]) -> npt.NDArray[np.int32]:
    """One row of ascending clocks per GPU type, padded at the front with 0 so -1 is the highest."""
    width = max([1, *(len(kind.clocks_mhz) for kind in gpu_types)])
    grid = np.zeros((len(gpu_types), width), np.int32)
    for row, kind in enumerate(gpu_types):
        clocks = sorted(kind.clocks_mhz)
        if clocks:
            grid[row, -len(clocks) :] = clocks
    return grid
