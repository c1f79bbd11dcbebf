"""The admin's first page: true figures, every table in its group, as many queries at any size."""

from datetime import timedelta

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission, User
from django.test import Client

from clusters.models import Cluster, Gpu, Node
from energy.ledger.settle import settle
from energy.models import PowerBudget
from rest.quantities import UNKNOWN
from scheduler_service import dashboard
from scheduler_service.factories import NOW, make_cluster, make_gpu_type, make_jobs, make_nodes
from scheduler_service.navigation import GROUPS
from scheduling.round import decide
from tenancy.callers import SYSTEM
from tests.energy.ledger.attempts import Metered
from tests.jobs.conftest import World, world
from tests.queries import queries

__all__ = ["world"]

pytestmark = [pytest.mark.slow, pytest.mark.django_db]
INDEX = "/admin/"
MOST_QUERIES = 20


@pytest.fixture
def browser() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="x"))
    return client


def test_figures_are_those_of_meters_and_ledger() -> None:
    metered = Metered.place()
    metered.start()
    metered.run(100)
    metered.end()
    metered.deliver()
    settle(metered.attempt.pk, now=metered.now)
    cluster = metered.attempt.cluster
    PowerBudget.objects.create(cluster=cluster, watts=1000, starts_at=NOW)
    shown = dashboard.site(SYSTEM, now=metered.now)
    (drawn,) = shown["clusters"]
    assert (drawn["gpus"], drawn["budget"]) == ("0 of 2", "of 1,000 W")
    assert drawn["watts"] == "300 W"
    assert drawn["percent"] == 30
    (today,) = shown["today"]
    assert (today["money"], today["energy"]) == ("0.0045 EUR", "0.01 kWh")
    tomorrow = dashboard.site(SYSTEM, now=metered.now + timedelta(days=1))
    assert tomorrow["today"] == []
    assert tomorrow["clusters"][0]["watts"] == UNKNOWN


def test_a_window_counts_only_while_it_is_in_force(world: World) -> None:
    late = {"starts_at": NOW + timedelta(hours=1), "ends_at": NOW + timedelta(hours=2)}
    PowerBudget.objects.create(cluster=world.cluster, watts=700, **late)
    Cluster.objects.filter(pk=world.cluster.pk).update(power_budget_w=900)

    def budget(hours: float) -> str:
        (drawn,) = dashboard.site(SYSTEM, now=NOW + timedelta(hours=hours))["clusters"]
        return str(drawn["budget"])

    assert [budget(0), budget(1), budget(1.5), budget(2)] == [
        "of 900 W", "of 700 W", "of 700 W", "of 900 W",
    ]  # fmt: skip


@pytest.mark.django_db(transaction=True)
def test_the_page_says_what_waits_and_what_is_wrong(browser: Client, world: World) -> None:
    make_jobs(world.cluster, world.ours, 3, min_gpus=64, max_gpus=64)
    decide(world.cluster.pk, now=NOW)
    lost = world.nodes[0]
    Node.objects.filter(pk=lost.pk).update(state="lost", state_reason="silent <b>node</b>")
    Gpu.objects.filter(node=world.nodes[1], index=2).update(fault="XID 79")
    page = browser.get(INDEX).content.decode()
    assert "silent &lt;b&gt;node&lt;/b&gt;" in page
    assert f"/admin/clusters/node/{lost.pk}/change/" in page
    assert "XID 79" in page
    assert "rounds late" in page
    site = dashboard.site(SYSTEM, now=NOW)
    assert sum(count for _, count in site["reasons"]) == 3
    assert ("queued", 3) in site["states"]


def test_every_table_stands_in_one_group(browser: Client) -> None:
    grouped = [label for labels in GROUPS.values() for label in labels]
    registered = sorted(model._meta.label for model in admin.site._registry)
    assert sorted(grouped) == registered
    page = browser.get(INDEX).content.decode()
    places = [page.index(f">{name}<") for name in ("Clusters", "Jobs", "Power budgets", "Tenants")]
    assert places == sorted(places)


def test_who_may_see_no_table_sees_no_figure(world: World) -> None:
    looker = User.objects.create_user("looker", password="x", is_staff=True)
    looker.user_permissions.add(Permission.objects.get(codename="view_rack"))
    client = Client()
    client.force_login(looker)
    page = client.get(INDEX)
    assert "site" not in page.context
    assert "Racks" in page.content.decode()
    assert "Tenants" not in page.content.decode()


def test_as_many_queries_for_a_large_site(browser: Client, world: World) -> None:
    browser.get(INDEX)
    few = queries(browser, INDEX)
    for number in range(5):
        cluster = make_cluster(f"c{number}")
        make_nodes(cluster, make_gpu_type(), 20, state="lost")
        make_jobs(cluster, world.ours, 50)
    assert queries(browser, INDEX) == few
    assert few <= MOST_QUERIES
