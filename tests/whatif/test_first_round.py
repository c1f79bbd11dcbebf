"""Whatever asks what would happen begins with the round that would be held now."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from energy.budgets.energy import energy_period
from energy.budgets.peak import charged, demand_month
from energy.models import PowerBudget, PowerState
from policies.contract.policy import Policy
from policies.contract.snapshot import Snapshot
from policies.registry import build
from scheduler_service.factories import NOW, make_jobs
from scheduling.snapshot.load import load_snapshot
from tariffs.models import CarbonHour, CarbonSeries
from tariffs.services.tariffs import tariff_create
from tenancy.callers import SYSTEM
from tests.api import Api
from tests.jobs.conftest import World
from tests.whatif.conftest import Messages, asked
from whatif import budget_response, forecasting, worlds
from whatif.services import forecast_request

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


class Watching:
    """First come, first served, and what it sees."""

    work_conserving = True
    minds_running = False

    def __init__(self) -> None:
        self.seen: list[Snapshot] = []
        self._policy: Policy = build("fifo", {})

    def plan(self, snapshot: Snapshot) -> Any:
        self.seen.append(snapshot)
        return self._policy.plan(snapshot)


@pytest.fixture
def limited(world: World) -> World:
    """Prices, carbon, a peak that was counted, and every kind of budget, one found to be wrong."""
    cluster = world.cluster
    tariff = {"name": "f", "kind": "flat", "price_per_kwh": Decimal(1)}
    tariff["demand_charge_per_kw"] = Decimal(9)
    cluster.tariff = tariff_create(caller=SYSTEM, values=tariff)
    cluster.carbon_series = CarbonSeries.objects.create(name="de")
    for hour in range(60):
        at = {"starts_at": NOW + hour * HOUR, "g_per_kwh": Decimal(300 + hour)}
        CarbonHour.objects.create(series=cluster.carbon_series, **at)
    cluster.power_budget_w, cluster.pue = 9000, Decimal("1.3")
    cluster.energy_budget_wh, cluster.energy_period = 40_000, "day"
    cluster.save()
    terms = charged(cluster, now=NOW)
    assert terms is not None
    PowerState.objects.create(
        cluster=cluster,
        correction_w=70.0,
        demand_month=demand_month(cluster, terms, NOW)[0],
        demand_counted_at=NOW,
        demand_peaks_w=[1234.0],
        energy_from_at=energy_period(cluster, NOW)[0],
        energy_counted_at=NOW,
        energy_drawn_j=5e7,
    )
    for watts, partition in ((5000, None), (3000, world.partition)):
        window = {"starts_at": NOW - HOUR, "ends_at": NOW + HOUR, "watts": watts}
        PowerBudget.objects.create(cluster=cluster, partition=partition, **window)
    make_jobs(cluster, world.ours, 3, min_gpus=4, max_gpus=4, estimated_run_s=3600)
    return world


def forecast(world: World, messages: Messages, api: Api) -> None:
    forecast_request(world.cluster, now=NOW, fresh=timedelta(0))
    messages.work(NOW)


def simulation(world: World, messages: Messages, api: Api) -> None:
    live = {"trace": None, "machines": None, "live": True, "cluster": "demo"}
    asked(api, **live, policies=[{"name": "fifo"}], seeds=[3])
    messages.work(NOW)


def response(world: World, messages: Messages, api: Api) -> None:
    row = PowerBudget(
        cluster=world.cluster, watts=900, starts_at=NOW + HOUR, ends_at=NOW + 2 * HOUR
    )
    budget_response.estimate(row, now=NOW)


@pytest.mark.parametrize("question", [forecast, simulation, response])
def test_the_first_round_sees_what_a_live_one_would(
    limited: World,
    operator: Api,
    messages: Messages,
    monkeypatch: pytest.MonkeyPatch,
    question: Callable[[World, Messages, Api], None],
) -> None:
    policy = Watching()
    for module, name in (
        (forecasting, "build"),
        (budget_response, "build"),
        (worlds, "build_policy"),
    ):
        monkeypatch.setattr(module, name, lambda *_: policy)
    question(limited, messages, operator)
    first, live = policy.seen[0], load_snapshot(limited.cluster, now=NOW, seed=0)
    # As much as was meant, so that equal nothings do not pass.
    assert (live.power_budget_w, live.peak_w) == (4930.0, 1234.0)
    assert 0 < live.energy_left_j < 40_000 * 3600
    assert np.isfinite(live.prices.carbon_g_per_kwh).any()
    for name in live.__dataclass_fields__:
        if isinstance(getattr(live, name), float | int):
            assert getattr(first, name) == getattr(live, name), name
    for table in ("prices", "partitions", "tenants", "nodes", "placements", "profiles"):
        ours = dict(getattr(first, table).columns())
        for name, values in getattr(live, table).columns():
            if name != "id":
                np.testing.assert_array_equal(ours[name], values, f"{table}.{name}")


@pytest.mark.parametrize("question", [forecast, simulation])
def test_who_looks_ahead_knows_when_a_power_budget_ends(
    limited: World,
    operator: Api,
    messages: Messages,
    monkeypatch: pytest.MonkeyPatch,
    question: Callable[[World, Messages, Api], None],
) -> None:
    policy = Watching()
    monkeypatch.setattr(forecasting, "build", lambda *_: policy)
    monkeypatch.setattr(worlds, "build_policy", lambda *_: policy)
    PowerBudget.objects.filter(partition=None).update(watts=100)
    question(limited, messages, operator)
    later = [one for one in policy.seen if one.now_s >= (NOW + HOUR).timestamp()]
    assert {one.power_budget_w for one in policy.seen[:2]} == {30.0}
    assert {one.power_budget_w for one in later} == {8930.0}
