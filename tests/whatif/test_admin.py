"""The admin of simulations and forecasts, as an operator uses it."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from scheduler_service.factories import NOW, make_jobs
from tenancy.models import AuditRow
from tests.api import Api
from tests.jobs.conftest import World
from tests.whatif.conftest import Messages, asked
from whatif.models import Forecast, ForecastJob, Simulation
from whatif.services import forecast_request

pytestmark = [pytest.mark.slow, pytest.mark.django_db]


@pytest.fixture
def browser(world: World) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("root", password="x"))
    return client


def cancel(browser: Client, simulation: Simulation) -> str:
    chosen = {"action": "cancel", "_selected_action": [str(simulation.pk)]}
    return browser.post("/admin/whatif/simulation/", chosen, follow=True).content.decode()


def test_pages_load(browser: Client, member: Api, world: World, messages: Messages) -> None:
    simulation = asked(member)
    make_jobs(world.cluster, world.ours, 1)
    forecast_request(world.cluster, now=NOW)
    messages.work()
    rows = {
        "simulation": simulation,
        "forecast": Forecast.objects.get(),
        "forecastjob": ForecastJob.objects.get(),
    }
    for model, row in rows.items():
        for path in ("", f"{row.pk}/change/"):
            answer = browser.get(f"/admin/whatif/{model}/{path}")
            assert answer.status_code == 200, (model, path)
        assert browser.get(f"/admin/whatif/{model}/add/").status_code == 403


def test_cancelling_and_its_refusal(browser: Client, member: Api, messages: Messages) -> None:
    simulation = asked(member)
    assert "Cancelled: 1." in cancel(browser, simulation)
    simulation.refresh_from_db()
    assert simulation.state == "cancelled"
    done = asked(member)
    messages.sent = [
        ring for ring in messages.sent if ring[1] in {run.pk for run in done.runs.all()}
    ]
    messages.work()
    assert "only live ones are cancelled" in cancel(browser, done)


ASK = "/admin/whatif/simulation/ask/"
ASKED = {
    "jobs_from": "drawn", "policies": ["fifo", "sjf"], "jobs": "5", "load": "0.5",
    "repetitions": "2", "_form_submitted": "on",
}  # fmt: skip


def test_a_simulation_is_asked_for_and_its_report_opens(
    browser: Client, world: World, messages: Messages
) -> None:
    assert b"a model of a real cluster" in browser.get(ASK).content
    done = browser.post(ASK, {**ASKED, "cluster": world.cluster.pk})
    row = Simulation.objects.get()
    page = f"/admin/whatif/simulation/{row.pk}"
    assert done["HX-Redirect"] == f"{page}/change/"
    assert (row.name, row.cluster, row.runs.count()) == ("fifo or sjf", world.cluster, 4)
    assert AuditRow.objects.filter(action="simulation.create", object_id=row.pk).exists()
    early = browser.get(f"{page}/report/", follow=True)
    assert "has no report" in early.content.decode()
    messages.work()
    report = browser.get(f"{page}/report/")
    assert report.content.startswith(b"<!doctype html>")
    assert "sandbox" in report["Content-Security-Policy"]
    assert b" than fifo." in report.content
    assert " than fifo." in browser.get(f"{page}/change/").content.decode()


def test_the_live_queue_runs_with_the_clusters_own_parameters(
    browser: Client, world: World, messages: Messages
) -> None:
    own = {"policy": "priority", "policy_parameters": {"ageing_s": 60}}
    type(world.cluster).objects.filter(pk=world.cluster.pk).update(**own)
    live = {"jobs_from": "live", "policies": ["priority", "fifo"], "cluster": world.cluster.pk}
    browser.post(ASK, {**ASKED, **live, "repetitions": "1"})
    row = Simulation.objects.get()
    assert (row.kind, row.name) == ("live", "priority or fifo")
    asked_for = {run.policy: run.parameters for run in row.runs.all()}
    assert asked_for == {"priority": {"ageing_s": 60}, "fifo": {}}


@pytest.mark.parametrize(
    ("change", "field"),
    [({"load": "99"}, "load"), ({"jobs": "0"}, "jobs"), ({"policies": []}, "policies")],
)
def test_what_cannot_be_simulated_is_said_at_the_field(
    browser: Client, world: World, change: dict[str, Any], field: str
) -> None:
    page = browser.post(ASK, {**ASKED, "cluster": world.cluster.pk, **change})
    assert list(page.context["form"].errors) == [field]
    assert not Simulation.objects.exists()
