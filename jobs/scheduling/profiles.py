"""Measured points of the profiles in a round's queue become the tensors that policies read."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from clusters.models import GpuType
from jobs.models import Profile
from policies.snapshot import ProfileTable


def profile_table(ids: npt.NDArray[np.int64], gpu_types: Sequence[GpuType]) -> ProfileTable:
    profiles = list(Profile.objects.filter(pk__in=[int(i) for i in ids if i > 0]).order_by("pk"))
    if not profiles:
        return ProfileTable.none(len(gpu_types))
    counts = sorted({int(point["gpus"]) for profile in profiles for point in profile.points})
    clocks = _clock_grid(gpu_types)
    shape = (len(profiles), len(gpu_types), len(counts), clocks.shape[1])
    throughput, watts = np.full(shape, np.nan), np.full(shape, np.nan)
    type_row = {kind.name: row for row, kind in enumerate(gpu_types)}
    for row, profile in enumerate(profiles):
        for point in profile.points:
            kind = type_row.get(point["gpu_type"])
            if kind is None:
                continue
            # A point without a clock was measured unlocked: at the highest.
            at = clocks[kind] == point["clock_mhz"] if point.get("clock_mhz") else [-1]
            cell = (row, kind, counts.index(point["gpus"]), at)
            throughput[cell] = point["steps_per_s"]
            watts[cell] = point.get("watts_per_gpu") or np.nan
    return ProfileTable.of(
        id=[profile.pk for profile in profiles],
        gpu_counts=counts,
        clocks_mhz=clocks,
        throughput=throughput,
        watts_per_gpu=watts,
        cpus_per_gpu=[],
        mem_mib_per_gpu=[],
        relative_speed=np.empty((len(profiles), 0, 0)),
    )


def _clock_grid(gpu_types: Sequence[GpuType]) -> npt.NDArray[np.int32]:
    """One row of ascending clocks per GPU type, padded at the front with 0 so -1 is the highest."""
    width = max([1, *(len(kind.clocks_mhz) for kind in gpu_types)])
    grid = np.zeros((len(gpu_types), width), np.int32)
    for row, kind in enumerate(gpu_types):
        clocks = sorted(kind.clocks_mhz)
        if clocks:
            grid[row, -len(clocks) :] = clocks
    return grid
