"""Gauges are read from the record, at most every few seconds, and an absent record is no crash."""

from typing import Any

import pytest
from django.db import DatabaseError
from prometheus_client import CollectorRegistry

from clusters.models import Cluster, Gpu, Node
from energy.ledger.settle import settle
from energy.models import PowerBreach, PowerState
from scheduler_service import gauges
from scheduler_service.factories import NOW
from scheduler_service.gauges import FRESH_S, GAUGES, DatabaseGauges
from scheduling.models import Round
from scheduling.round import run_round
from tenancy.rls import NONE, scope
from tests.energy.ledger.attempts import Metered, later
from tests.energy.telemetry.readings import HELD_MW

pytestmark = pytest.mark.django_db


def _registry(collector: DatabaseGauges | None = None) -> CollectorRegistry:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector or DatabaseGauges())
    return registry


@pytest.fixture
def metered() -> Metered:
    metered = Metered.place()
    metered.gpus[0].read()
    metered.start()
    metered.run(60)
    metered.deliver()
    return metered


@pytest.mark.parametrize(
    ("name", "labels", "value"),
    [
        ("fairwatt_jobs", {"cluster": "c", "state": "running"}, 1),
        ("fairwatt_nodes", {"cluster": "c", "state": "ready"}, 1),
        ("fairwatt_gpus", {"cluster": "c", "which": "all"}, 2),
        ("fairwatt_gpus", {"cluster": "c", "which": "usable"}, 2),
        ("fairwatt_gpus", {"cluster": "c", "which": "held"}, 1),
        ("fairwatt_gpu_energy_joules", {"cluster": "c"}, 60 * HELD_MW / 1000),
        ("fairwatt_samples_refused", {"cluster": "c", "why": "refused"}, 0),
        ("fairwatt_sample_inbox", {}, 0),
        ("fairwatt_brake", {"cluster": "c"}, 0),
    ],
)
def test_what_a_scrape_sees(
    metered: Metered, name: str, labels: dict[str, str], value: float
) -> None:
    assert metered.job.state == "running"
    # The API's own connections see no tenant's rows; the gauges count all of them.
    with scope(NONE):
        assert _registry().get_sample_value(name, labels) == value


def test_rounds_and_meters_are_watched(metered: Metered) -> None:
    metered.end()
    run_round(metered.job.cluster_id, now=NOW)
    registry = _registry()
    for step in ("load", "plan", "check", "apply"):
        labels = {"cluster": "c", "step": step}
        assert registry.get_sample_value("fairwatt_round_seconds", labels) is not None
    assert registry.get_sample_value("fairwatt_round_age_seconds", {"cluster": "c"}) is not None
    # Long past by the database's clock.
    assert registry.get_sample_value("fairwatt_meters_due", {}) == 1
    settle(metered.attempt.pk, now=later(metered, days=1))
    assert _registry().get_sample_value("fairwatt_meters_due", {}) == 0


def test_bounds_are_of_the_last_round_that_has_one(metered: Metered) -> None:
    first, last = (run_round(metered.job.cluster_id, now=NOW) for _ in range(2))
    assert first is not None
    assert last is not None
    rounds = Round.objects.filter(pk=first.pk)
    rounds.update(objective=8.0, bound=6.0, gap=0.25)
    Round.objects.filter(pk=last.pk).update(objective=9.0)

    def read() -> list[float | None]:
        registry = _registry()
        named = [("objective", {"which": "last"}), ("objective", {"which": "bounded"})]
        named += [("bound", {}), ("gap", {})]
        return [
            registry.get_sample_value(f"fairwatt_round_{name}", {"cluster": "c", **labels})
            for name, labels in named
        ]

    assert read() == [9.0, 8.0, 6.0, 0.25]
    # A policy that was replaced leaves no figures behind, nor does a failed round an objective.
    rounds.update(policy="another")
    Round.objects.filter(pk=last.pk).update(objective=None)
    assert read() == [None] * 4


def test_the_brake_and_faults_show(metered: Metered) -> None:
    Cluster.objects.update(brake_since_at=NOW)
    Node.objects.update(samples_refused=3, samples_shed=4, state="lost")
    registry = _registry()
    assert registry.get_sample_value("fairwatt_brake", {"cluster": "c"}) == 1
    refused = {"cluster": "c", "why": "shed"}
    assert registry.get_sample_value("fairwatt_samples_refused", refused) == 4
    usable = {"cluster": "c", "which": "usable"}
    assert registry.get_sample_value("fairwatt_gpus", usable) == 0


def test_power_and_breaches_show(metered: Metered) -> None:
    cluster = Cluster.objects.get()
    PowerState.objects.create(cluster=cluster, measured_w=950, budget_w=900, correction_w=50)
    above = {"cluster": cluster, "budget_w": 900, "worst_w": 950, "began_at": NOW, "seen_at": NOW}
    PowerBreach.objects.create(**above, ended_at=NOW)
    PowerBreach.objects.create(**above)
    Gpu.objects.filter(pk=Gpu.objects.earliest("pk").pk).update(remark="clock")
    registry = _registry()
    for which, watts in (("measured", 950), ("budget", 900), ("correction", 50)):
        labels = {"cluster": "c", "partition": "", "which": which}
        assert registry.get_sample_value("fairwatt_power_watts", labels) == watts
    for which, count in (("all", 2), ("open", 1)):
        labels = {"cluster": "c", "which": which}
        assert registry.get_sample_value("fairwatt_power_breaches", labels) == count
    assert registry.get_sample_value("fairwatt_gpus_remarked", {"cluster": "c"}) == 1


def test_scrapers_in_a_hurry_share_one_look(metered: Metered) -> None:
    now_s = [0.0]
    registry = _registry(DatabaseGauges(clock=lambda: now_s[0]))
    labels = {"cluster": "c", "state": "ready"}
    assert registry.get_sample_value("fairwatt_nodes", labels) == 1
    Node.objects.update(state="drained")
    now_s[0] = FRESH_S
    assert registry.get_sample_value("fairwatt_nodes", labels) == 1
    now_s[0] = FRESH_S + 1
    assert registry.get_sample_value("fairwatt_nodes", labels) is None


def test_without_a_database_there_are_no_gauges(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> Any:
        raise DatabaseError("gone")

    monkeypatch.setattr(gauges, "_families", absent)
    assert list(_registry().collect()) == []


def test_no_gauge_is_labelled_by_job_or_tenant() -> None:
    assert {label for gauge in GAUGES for label in gauge.labels} <= {
        "cluster", "partition", "state", "which", "why", "step",
    }  # fmt: skip
