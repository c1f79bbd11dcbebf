"""Power budgets are ordered and withdrawn in the admin, as over HTTP."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from clusters.models import Cluster
from energy.models import PowerBudget
from tenancy.models import AuditRow
from tests.jobs.conftest import World
from tests.whatif.test_power_budgets import queue

__all__ = ["queue"]

pytestmark = [pytest.mark.slow, pytest.mark.django_db]
BUDGETS = "/admin/energy/powerbudget/"
ORDER = {"watts": "1900", "timezone": "Europe/Berlin", "reason": "peak"}


@pytest.fixture
def browser(world: World) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="x"))
    return client


def order(browser: Client, world: World, **fields: Any) -> Any:
    body = {"cluster": world.cluster.pk, **ORDER, **fields}
    return browser.post(f"{BUDGETS}add/", body, follow=True)


def test_an_order_says_what_it_is_expected_to_do(
    browser: Client, world: World, queue: None
) -> None:
    later = timezone.now() + timedelta(hours=1)
    Cluster.objects.update(next_round_at=later)
    page = order(browser, world, ends_at_0=f"{later:%Y-%m-%d}", ends_at_1=f"{later:%H:%M:%S}")
    row = PowerBudget.objects.get()
    assert (row.watts, row.reason, row.ordered_by) == (1900, "peak", "root")
    assert "1,840 W instead of 3,200 W on average" in page.content.decode()
    assert "1 of 2 jobs end later, at worst by" in page.content.decode()
    assert row.estimate is not None
    assert Cluster.objects.get(pk=world.cluster.pk).next_round_at < later
    assert AuditRow.objects.filter(action="power_budget.order").count() == 1
    shown = browser.get(f"{BUDGETS}{row.pk}/change/").content.decode()
    assert "1,840 W instead of 3,200 W" in shown


def test_every_night(browser: Client, world: World) -> None:
    order(browser, world, from_minute="22:00", to_minute="06:30")
    row = PowerBudget.objects.get()
    assert (row.from_minute, row.to_minute, row.ends_at) == (1320, 390, None)
    assert "22:00 to 06:30 Europe/Berlin" in browser.get(BUDGETS).content.decode()


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"watts": "0"}, "watts"),
        ({"from_minute": "22:00"}, "to_minute"),
        ({"timezone": "Mars/Base"}, "timezone"),
        ({"ends_at_0": "2020-01-01", "ends_at_1": "00:00"}, "ends_at"),
    ],
)
def test_a_refusal_stands_at_its_field(
    browser: Client, world: World, wrong: dict[str, str], field: str
) -> None:
    page = order(browser, world, **wrong)
    assert list(page.context["adminform"].form.errors) == [field]
    assert not PowerBudget.objects.exists()


def test_withdrawing_ends_what_has_begun(browser: Client, world: World) -> None:
    order(browser, world)
    row = PowerBudget.objects.get()
    assert browser.post(f"{BUDGETS}{row.pk}/change/", {"watts": "5"}).status_code == 403
    browser.post(f"{BUDGETS}{row.pk}/delete/", {"post": "yes"})
    row.refresh_from_db()
    assert row.ends_at is not None
    assert AuditRow.objects.filter(action="power_budget.withdraw").count() == 1
