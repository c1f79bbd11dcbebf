"""What today has cost so far and which jobs were dearest, in one pass over its ledger."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import connection

from console.kept import kept
from energy.ledger.sums import MJ_PER_KWH

DEAREST_SHOWN = 6
# The ledger is written a few times an hour.
MONEY_S = 60.0

# By attempt first: names are looked up for the few that are shown, not for every row of the day.
_DAY = """
WITH spent AS MATERIALIZED (
    SELECT attempt_id, currency, sum(cost) AS cost, sum(gpu_mj + host_mj) AS mj,
           sum(carbon_g) AS carbon_g
    FROM energy_ledgerrow
    WHERE cluster_id IN (SELECT id FROM clusters_cluster)
      AND starts_at BETWEEN %(midnight)s AND %(now)s
    GROUP BY attempt_id, currency
), dearest AS (
    SELECT attempt.job_id, spent.currency, sum(spent.cost) AS cost
    FROM spent JOIN jobs_attempt attempt ON attempt.id = spent.attempt_id
    GROUP BY attempt.job_id, spent.currency
    ORDER BY cost DESC, attempt.job_id LIMIT %(shown)s
)
SELECT currency, sum(cost), sum(mj), sum(carbon_g), NULL, NULL, NULL FROM spent GROUP BY currency
UNION ALL
SELECT dearest.currency, dearest.cost, NULL, NULL, job.id, job.name, tenant.name
FROM dearest
JOIN jobs_job job ON job.id = dearest.job_id
JOIN tenancy_tenant tenant ON tenant.id = job.tenant_id
"""


@dataclass(frozen=True, slots=True)
class DayTotal:
    """Of all clusters that reckon in the currency."""

    currency: str
    total_cost: Decimal
    total_kwh: Decimal
    total_carbon_g: Decimal


@dataclass(frozen=True, slots=True)
class DearJob:
    currency: str
    total_cost: Decimal
    job_id: int
    job_name: str
    tenant_name: str


@dataclass(frozen=True, slots=True)
class DayMoney:
    totals: list[DayTotal]
    dearest: list[DearJob]


@kept(MONEY_S)
def day_money(*, now: datetime) -> DayMoney:
    """Of the windows that have begun since midnight, UTC."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    money = DayMoney([], [])
    with connection.cursor() as cursor:
        cursor.execute(_DAY, {"midnight": midnight, "now": now, "shown": DEAREST_SHOWN})
        for currency, cost, mj, carbon_g, *job in cursor:
            if mj is None:
                money.dearest.append(DearJob(currency, cost, *job))
            else:
                money.totals.append(DayTotal(currency, cost, mj / MJ_PER_KWH, carbon_g))
    money.totals.sort(key=lambda total: total.currency)
    money.dearest.sort(key=lambda job: (-job.total_cost, job.job_id))
    return money
