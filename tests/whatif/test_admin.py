"""The admin of simulations and forecasts, as an operator uses it."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from scheduler_service.factories import NOW, make_jobs
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
