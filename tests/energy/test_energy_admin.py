"""Operators look at meters, ledger, logs and counters, and change none of them."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from energy.ledger.settle import settle
from energy.telemetry.roll_up import samples_roll_up
from jobs.models import Log
from scheduler_service.factories import NOW
from tests.energy.ledger.attempts import Metered, later

pytestmark = [pytest.mark.slow, pytest.mark.django_db]

PAGES = [
    "energy/meter",
    "energy/ledgerrow",
    "jobs/log",
    "energy/gpucounter",
    "energy/sampleminute",
    "energy/boot",
]


@pytest.fixture
def browser() -> Client:
    metered = Metered.place()
    metered.start()
    metered.run(100)
    metered.end()
    metered.deliver()
    settle(metered.attempt.pk, now=metered.now)
    samples_roll_up(now=later(metered, minutes=1))
    Log.objects.create(
        tenant=metered.job.tenant, attempt=metered.attempt, node=metered.agent.node,
        stream="stdout", size=5, updated_at=NOW,
    )  # fmt: skip
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="x"))
    return client


@pytest.mark.parametrize("page", PAGES)
def test_pages_show_rows_and_change_none(browser: Client, page: str) -> None:
    listed = browser.get(f"/admin/{page}/")
    assert listed.status_code == 200
    (row, *_) = listed.context["cl"].result_list
    assert browser.get(f"/admin/{page}/{row.pk}/change/").status_code == 200
    assert browser.post(f"/admin/{page}/{row.pk}/change/", {}).status_code == 403
    assert browser.get(f"/admin/{page}/add/").status_code == 403
    assert browser.get(f"/admin/{page}/{row.pk}/delete/").status_code == 403
    assert browser.get(f"/admin/{page}/?q=1").status_code == 200
