"""How long jobs still take, reckoned in every round: by their own speed, else their profile's."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from policies.contract.snapshot import ProfileTable

Rows = npt.NDArray[Any]
F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Where:
    """What each job holds, or would get at least; types are row numbers, -1 while it waits."""

    profile: Rows
    gpu_type: Rows
    allowed_types: Rows
    gpus: Rows
    clock_mhz: Rows


def steps_per_s(where: Where, table: ProfileTable) -> F64:
    """The profile's speed there; over all allowed types while a job waits. nan is not known."""
    speeds = np.full(len(where.profile), np.nan)
    if len(table) == 0:
        return speeds
    at = np.minimum(np.searchsorted(table.gpu_counts, where.gpus), len(table.gpu_counts) - 1)
    known = (where.profile >= 0) & (table.gpu_counts[at] == where.gpus)
    rows, counts = where.profile[known], at[known]
    # Of a job that waits nobody knows the clock: the highest, as without a policy that sets any.
    highest = table.throughput[rows, :, counts, -1]
    bits = np.arange(highest.shape[1], dtype=np.uint64)
    allowed = (where.allowed_types[known][:, None] >> bits) & np.uint64(1) > 0
    speeds[known] = _mean(np.where(allowed, highest, np.nan))
    held = known & (where.gpu_type >= 0)
    if held.any():
        kinds = where.gpu_type[held]
        clocks = _clock_at(table, kinds, where.clock_mhz[held])
        speeds[held] = table.throughput[where.profile[held], kinds, at[held], clocks]
    return speeds


def remaining_s(work_left: F64, measured_per_s: F64, predicted_per_s: F64, estimate_s: F64) -> F64:
    """What is measured comes before what is predicted, and that before what a tenant thinks."""
    per_s = np.where(measured_per_s > 0, measured_per_s, predicted_per_s)
    with np.errstate(divide="ignore", invalid="ignore"):
        reckoned = work_left / per_s
    return np.where(np.isfinite(reckoned), reckoned, estimate_s)


def _clock_at(table: ProfileTable, kinds: Rows, clock_mhz: Rows) -> Rows:
    match = table.clocks_mhz[kinds] == clock_mhz[:, None]
    locked = match.any(axis=1) & (clock_mhz > 0)
    at: Rows = np.where(locked, match.argmax(axis=1), table.clocks_mhz.shape[1] - 1)
    return at


def _mean(speeds: F64) -> F64:
    known = ~np.isnan(speeds)
    total, count = np.where(known, speeds, 0.0).sum(axis=1), known.sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
