"""The world of tests/jobs, with messages to workers collected instead of sent."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import pytest

from scheduler_service.factories import NOW
from tests.api import Api
from tests.jobs.conftest import World, member, operator, stranger, world
from whatif import dispatch
from whatif.forecasting import make_forecast
from whatif.models import Simulation, SimulationRun
from whatif.running import run_claimed

__all__ = ["World", "member", "operator", "stranger", "world"]

SIMULATIONS = "/api/v1/simulations/"
LINES = (
    '{"submitted_s": 1000, "duration_s": 100, "gpus": 4, "tenant": "a"}\n'
    '{"submitted_s": 1001, "duration_s": 50, "gpus": 8, "tenant": "b"}\n'
    '{"submitted_s": 1002, "duration_s": 10, "gpus": 2, "tenant": "a"}\n'
)
REQUEST: dict[str, Any] = {
    "name": "try",
    "trace": {"lines": LINES},
    "machines": {
        "nodes": [{"count": 1, "gpus": 8, "gpu_type": "A100", "host_peak_w": 400}],
        "gpus": [{"name": "A100", "idle_w": 60, "max_w": 400}],
    },
    "policies": [{"name": "fifo"}, {"name": "sjf"}],
}


@dataclass
class Messages:
    """Messages that would have gone to workers, as (task, id)."""

    sent: list[tuple[str, int]] = field(default_factory=list)

    def work(self, now: datetime = NOW) -> None:
        """Do what they ask for, in order."""
        while self.sent:
            task, row_id = self.sent.pop(0)
            done = {dispatch.RUN: run_claimed, dispatch.FORECAST: make_forecast}[task]
            done(row_id, now=now)


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> Messages:
    made = Messages()
    monkeypatch.setattr(
        dispatch, "send", lambda task, ids: made.sent.extend((task, i) for i in ids)
    )
    return made


def asked(api: Api, **changes: Any) -> Simulation:
    answer = api.post(SIMULATIONS, {**REQUEST, **changes})
    assert answer.status_code == 201, answer.content
    return Simulation.objects.get(pk=answer.json()["id"])


def runs_of(simulation: Simulation) -> list[SimulationRun]:
    return list(SimulationRun.objects.filter(simulation=simulation).order_by("number"))
