"""The part of the site that lives: its money is the ledger's, and operators share its text."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from clusters.models import Gpu
from console.reads.day_money import DEAREST_SHOWN, day_money
from energy.models import LedgerRow
from jobs.models import Attempt, Job
from scheduler_service.factories import hold
from scheduling.site import day_totals
from tenancy.callers import SYSTEM
from tests.console.conftest import signed_in
from tests.jobs.conftest import World

NOON = datetime(2026, 1, 6, 12, tzinfo=UTC)
KWH_MJ = 3_600_000_000


def bill(attempt: Attempt, cost: int, *, hours_ago: int = 1, currency: str = "EUR") -> None:
    LedgerRow.objects.create(
        tenant=attempt.tenant, cluster=attempt.cluster, attempt=attempt, currency=currency,
        gpu=Gpu.objects.earliest("pk"), starts_at=NOON - timedelta(hours=hours_ago), ends_at=NOON,
        cost=cost, gpu_mj=cost * KWH_MJ, host_mj=KWH_MJ, carbon_g=7 * cost, method="counter",
        pue=1, coverage=1, written_at=NOON,
    )  # fmt: skip


@pytest.fixture
def attempts(world: World) -> list[Attempt]:
    """Of two tenants; the last two are of one job."""
    owners = [world.ours, world.theirs] * (DEAREST_SHOWN // 2 + 1)
    made = [hold(owner, world.nodes[0], 0) for owner in owners]
    again = Attempt.objects.create(
        tenant=owners[-1], job=made[-1].job, cluster=world.cluster, number=2, fence=99, gpus=1,
        offered_at=NOON, state="ended", reason="completed", ended_at=NOON,
    )  # fmt: skip
    return [*made, again]


def test_the_dearest_are_jobs_whatever_their_attempts(attempts: list[Attempt]) -> None:
    for cost, attempt in enumerate(attempts, start=1):
        bill(attempt, cost)
    bill(attempts[0], 1000, hours_ago=13)
    bill(attempts[1], 1)
    found = day_money(now=NOON).dearest
    # The last job has two attempts; the first is out, with what it cost before midnight.
    assert [row.total_cost for row in found] == [8 + 9, 7, 6, 5, 4, 2 + 1]
    assert found[0].job_id == attempts[-1].job_id
    tenants = Job.objects.filter(pk__in=[row.job_id for row in found])
    named = dict(tenants.values_list("pk", "tenant__name"))
    assert [row.tenant_name for row in found] == [named[row.job_id] for row in found]


def test_the_day_is_what_the_ledger_says(attempts: list[Attempt]) -> None:
    for cost, attempt in enumerate(attempts):
        bill(attempt, cost, currency="EUR" if cost % 2 else "CHF", hours_ago=1 + 2 * cost)
    wanted = day_totals(SYSTEM, now=NOON)
    found = day_money(now=NOON).totals
    names = ("currency", "total_cost", "total_kwh", "total_carbon_g")
    assert [tuple(getattr(row, name) for name in names) for row in found] == [
        tuple(row[name] for name in names) for row in wanted
    ]
    assert found[0].total_kwh == found[0].total_cost + Decimal(3)


@pytest.mark.parametrize("colour", ["utilisation", "tenant"])
def test_two_operators_are_shown_one_reading(staff: Client, world: World, colour: str) -> None:
    path = f"{reverse('console:site-live')}?colour={colour}"
    first = staff.get(path).content
    other = signed_in("olga")
    with CaptureQueriesContext(connection) as asked:
        assert other.get(path).content == first
    # Who it is, and nothing of the site.
    assert not [each["sql"] for each in asked if "clusters_" in each["sql"]]


def test_a_colour_is_not_shown_as_another(staff: Client, world: World) -> None:
    shown = {staff.get(f"{reverse('console:site-live')}?colour={name}").content
             for name in ("utilisation", "tenant", "watts", "temperature")}  # fmt: skip
    assert len(shown) == 4


def test_what_operators_are_shown_is_refused_to_members(staff: Client, ours: Client) -> None:
    for name in ("site", "site-live"):
        assert staff.get(reverse(f"console:{name}")).status_code == 200
        assert ours.get(reverse(f"console:{name}")).status_code == 403


def test_the_part_is_within_the_page_as_it_is(staff: Client, world: World) -> None:
    page = staff.get(reverse("console:site")).content
    assert staff.get(reverse("console:site-live")).content.strip() in page
