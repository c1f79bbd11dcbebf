"""What the two workloads of the frontier share: due dates, tenants, and a year of prices."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache

import numpy as np

from lab.experiments.andreas.settings import PRIORITY_WEIGHTS
from policies.contract.columns import F64, I64
from policies.contract.snapshot import ProfileTable
from policies.pricing.curve import PriceCurve
from policies.pricing.hourly import Parsed
from policies.pricing.hourly_cells import CARBON, PRICE, Quantity
from policies.pricing.published import BEHIND_S
from policies.pricing.tariff import hourly_curve
from simulator.machines import Machines
from simulator.scenario.files import data_directory
from simulator.scenario.prices import read_series
from simulator.workload import Workload

YEAR = 2021
WEEK_S = 7 * 86_400.0
# Longer than any run lasts after its window has begun.
MARKET_TIMEZONE = "Europe/Berlin"
PRICED_S = 180 * 86_400
TENANTS = 4
DUE_SHARE = 0.5
DUE_FACTORS = (1.5, 4.0)
_PRICES = "electricity_prices/DE-LU/DE-LU_electricity_prices_{year}.csv.gz"
_CARBON = "carbon_intensity/DE-LU/DE-LU_{year}_hourly.csv.gz"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FrontierWorld:
    """Jobs ask for rigid gangs; one that is elastic may have up to `most_gpus`."""

    machines: Machines
    profiles: ProfileTable
    jobs: Workload
    most_gpus: I64

    def most_w(self) -> float:
        """What the cluster draws with every GPU at its limit and every host at its peak."""
        nodes, types = self.machines.nodes, self.machines.gpu_types
        return float((nodes.host_peak_w + nodes.gpus * types.max_w[nodes.gpu_type]).sum())


def begins_s(window: int) -> float:
    """00:00 UTC of the first Monday of the window's month."""
    first_at = datetime(YEAR, window + 1, 1, tzinfo=UTC)
    return (first_at + timedelta(days=-first_at.weekday() % 7)).timestamp()


def with_demands(jobs: Workload, run_s: F64, window: int) -> Workload:
    """Due dates, weights and tenants, drawn by the window's number."""
    random, count = np.random.default_rng([window, 5]), len(jobs)
    due = random.permutation(count) < round(DUE_SHARE * count)
    due_s = jobs.submitted_s + run_s * random.uniform(*DUE_FACTORS, count)
    priority = random.integers(1, len(PRIORITY_WEIGHTS) + 1, count)
    return jobs.but(
        deadline_s=np.where(due, due_s, np.inf),
        priority=priority,
        tardiness_weight=np.array(PRIORITY_WEIGHTS)[priority - 1],
        tenant=random.integers(TENANTS, size=count),
    )


def price(window: int) -> PriceCurve:
    return _curve(_PRICES, PRICE, window)


def carbon(window: int) -> PriceCurve:
    return _curve(_CARBON, CARBON, window)


@cache
def _curve(name: str, quantity: Quantity, window: int) -> PriceCurve:
    """Of the year and the one after it, which the last windows reach into."""
    years = [_series(name.format(year=year), quantity) for year in (YEAR, YEAR + 1)]
    starts_s = np.concatenate([series.starts_s for series in years])
    values = [value for series in years for value in series.values]
    from_s = int(begins_s(window))
    return hourly_curve(starts_s, values, from_s - BEHIND_S, from_s + PRICED_S)


@cache
def _series(name: str, quantity: Quantity) -> Parsed:
    return read_series(name, data_directory(), quantity)
