"""Made-up profiles of jobs, and prices, for snapshots that policies are timed on."""

import numpy as np

from policies.contract.snapshot import PriceTable, ProfileTable

COUNTS, CLOCKS_MHZ = (1, 2, 4, 8), (900, 1200, 1500)
SCALING_KINDS = 8
GRID_CPUS, GRID_MEM_MIB = (1, 2, 3, 4, 5, 6, 9, 12, 24), (21_334, 64_000, 128_000, 192_000, 256_000)
SENSITIVE_KINDS = 12


def scaling(rng: np.random.Generator) -> ProfileTable:
    """Eight kinds of job: speed grows with GPUs and clock, less than in proportion."""
    kinds, count = SCALING_KINDS, np.array(COUNTS, np.float64)[None, None, :, None]
    clock = np.array(CLOCKS_MHZ)[None, None, None, :] / CLOCKS_MHZ[-1]
    exponent = rng.uniform(0.6, 0.95, kinds)[:, None, None, None]
    bound = rng.uniform(0.4, 1.0, kinds)[:, None, None, None]
    of_type = np.array([1.0, 2.2])[None, :, None, None]
    watts = np.array([250.0, 400.0])[None, :, None, None] * (0.35 + 0.65 * clock**2.5)
    shape = (kinds, 2, len(COUNTS), len(CLOCKS_MHZ))
    return ProfileTable.of(
        id=np.arange(kinds) + 1,
        gpu_counts=COUNTS,
        clocks_mhz=np.tile(CLOCKS_MHZ, (2, 1)),
        throughput=np.broadcast_to(of_type * count**exponent * clock**bound, shape),
        watts_per_gpu=np.broadcast_to(watts, shape),
        cpus_per_gpu=[],
        mem_mib_per_gpu=[],
        relative_speed=np.empty((kinds, 0, 0)),
    )


def sensitive(rng: np.random.Generator) -> ProfileTable:
    """Twelve kinds, from insensitive ones to one that is four times as fast with nine CPUs."""
    kinds, cpus, mem = SENSITIVE_KINDS, np.array(GRID_CPUS), np.array(GRID_MEM_MIB)
    wanted = rng.choice([1, 3, 4, 6, 9, 12], kinds)
    by_cpus = np.minimum(cpus[None, :] / wanted[:, None], 1.0)
    by_mem = np.where(mem >= rng.choice([0, 64_000, 128_000], kinds)[:, None], 1.0, 0.8)
    speed = by_cpus[:, :, None] * by_mem[:, None, :]
    none = np.full((kinds, 1, 1, 1), np.nan)
    return ProfileTable.of(
        id=np.arange(kinds) + 1,
        gpu_counts=[1],
        clocks_mhz=[[1]],
        throughput=np.ones_like(none),
        watts_per_gpu=none,
        cpus_per_gpu=cpus,
        mem_mib_per_gpu=mem,
        relative_speed=speed / speed[:, 2:3, 1:2],
    )


def daily_prices(rng: np.random.Generator, now_s: float) -> PriceTable:
    """Two days by the hour: dear in the evening, cheap at night."""
    hour = np.arange(48)
    price = 0.18 + 0.08 * np.sin((hour - 13) / 24 * 2 * np.pi) + rng.normal(0, 0.01, 48)
    return PriceTable.of(from_s=now_s + 3600.0 * hour - 600.0, price_per_kwh=price)
