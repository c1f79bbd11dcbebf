"""Jobs in the admin: where, why and for how much, in the list and on top of the page."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from energy.ledger.settle import settle
from jobs.models import Attempt, Job, JobEvent, Log
from scheduler_service.factories import NOW, hold, make_jobs, make_tenant
from scheduling.round import decide
from tests.energy.ledger.attempts import Metered
from tests.energy.test_node_admin import cell
from tests.jobs.conftest import World, world
from tests.queries import queries

__all__ = ["world"]

pytestmark = [pytest.mark.slow, pytest.mark.django_db]
JOBS = "/admin/jobs/job/"
committing = pytest.mark.django_db(transaction=True)


@pytest.fixture
def browser() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="x"))
    return client


def test_node_and_cost_of_a_job_that_ran(browser: Client) -> None:
    metered = Metered.place()
    metered.start()
    metered.run(100)
    metered.end()
    metered.deliver()
    settle(metered.attempt.pk, now=metered.now)
    Log.objects.create(
        tenant=metered.job.tenant, attempt=metered.attempt, node=metered.agent.node,
        stream="stdout", size=5, updated_at=NOW,
    )  # fmt: skip
    listed = browser.get(JOBS).content.decode()
    assert (cell(listed, "on_nodes"), cell(listed, "cost")) == ("n1", "0.0045 EUR")
    page = browser.get(f"{JOBS}{metered.job.pk}/change/").content.decode()
    assert page.index("0.0045 EUR for 0.008 kWh") < page.index("As submitted, and since")
    assert f"/admin/jobs/log/{Log.objects.get().pk}/change/" in page
    assert "stdout of attempt 1 on n1" in page


@committing
def test_why_a_job_waits(browser: Client, world: World) -> None:
    make_jobs(world.cluster, world.ours, 1, min_gpus=64, max_gpus=64)
    assert cell(browser.get(JOBS).content.decode(), "reason_now") == "not considered yet"
    decide(world.cluster.pk, now=NOW)
    assert cell(browser.get(JOBS).content.decode(), "reason_now") == "larger than partition"
    page = browser.get(f"{JOBS}{Job.objects.get().pk}/change/").content.decode()
    assert "It asks for more than the nodes" in page
    assert "ask for 8 GPUs" in page


def test_as_many_queries_for_many_jobs(browser: Client, world: World) -> None:
    hold(world.ours, world.nodes[0])
    browser.get(JOBS)
    few = queries(browser, JOBS)
    make_jobs(world.cluster, [make_tenant(f"t{number}") for number in range(10)], 40)
    hold(world.theirs, world.nodes[1])
    assert queries(browser, JOBS) == few


def test_as_many_queries_for_a_long_history(browser: Client, world: World) -> None:
    job = hold(world.ours, world.nodes[0]).job
    page = f"{JOBS}{job.pk}/change/"
    browser.get(page)
    few = queries(browser, page)
    for number in range(2, 12):
        Attempt.objects.create(
            tenant=world.ours, job=job, cluster=world.cluster, number=number, gpus=1,
            fence=100 + number, state="ended", offered_at=NOW, ended_at=NOW,
        )  # fmt: skip
        JobEvent.objects.create(
            tenant=world.ours, job=job, at=NOW, from_state="queued", to_state="placed"
        )
    assert queries(browser, page) <= few + 1
    assert few <= 25


def test_as_many_queries_for_a_wide_attempt(browser: Client, world: World) -> None:
    narrow, wide = hold(world.ours, world.nodes[0], 1), hold(world.ours, world.nodes[1], 4)
    pages = [f"/admin/jobs/attempt/{attempt.pk}/change/" for attempt in (narrow, wide)]
    browser.get(pages[0])
    assert queries(browser, pages[0]) == queries(browser, pages[1])
