"""Nodes in the admin say what they draw and who holds them."""

import re
from datetime import datetime

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from jobs.models import Job
from scheduler_service.factories import hold, make_gpu_type, make_nodes, make_tenant
from tests.energy.ledger.attempts import Metered
from tests.jobs.conftest import World, world
from tests.queries import queries

__all__ = ["world"]

pytestmark = [pytest.mark.slow, pytest.mark.django_db]
NODES = "/admin/clusters/node/"


@pytest.fixture
def browser() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="x"))
    return client


def cell(page: str, column: str) -> str:
    found = re.search(rf"<td[^>]*field-{column}[^>]*>(.*?)</td>", page, re.DOTALL)
    assert found is not None, page
    return re.sub(r"\s+", " ", re.sub("<[^>]*>", "", found[1])).strip()


def test_watts_and_gpus_in_use(browser: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    metered = Metered.place()
    metered.start()
    metered.run(100)
    metered.deliver()
    at: datetime = metered.now
    monkeypatch.setattr(timezone, "now", lambda: at)
    page = browser.get(NODES).content.decode()
    assert cell(page, "gpus_held") == "1 / 2"
    assert cell(page, "drawn") == "300 W"
    assert cell(page, "holders") == f"acme: {metered.job.name}"


def test_holders_are_few_and_escaped(browser: Client, world: World) -> None:
    for number in range(4):
        attempt = hold(
            world.ours, make_nodes(world.cluster, make_gpu_type(), 1, prefix=f"x{number}")[0]
        )
        Job.objects.filter(pk=attempt.job_id).update(name="<b>")
    page = browser.get(NODES).content.decode()
    assert "ours: &lt;b&gt;" in page
    assert "<b></a>" not in page


def test_as_many_queries_for_many_nodes(browser: Client, world: World) -> None:
    hold(world.ours, world.nodes[0])
    browser.get(NODES)
    few = queries(browser, NODES)
    for node in make_nodes(world.cluster, make_gpu_type(), 30, prefix="m"):
        hold(make_tenant(node.name), node, 2)
    assert queries(browser, NODES) == few
