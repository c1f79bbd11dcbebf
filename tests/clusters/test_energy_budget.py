"""Energy per day or month: given through the API and the admin, begun at the tariff's midnight."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from clusters.models import Cluster
from energy.budgets.energy import energy_period
from energy.models import PowerState
from tariffs.models import Tariff
from tests.clusters.http import ClusterApi, refusal

pytestmark = pytest.mark.django_db

BERLIN = "Europe/Berlin"


@pytest.mark.parametrize(
    ("period", "zone", "now", "start", "hours"),
    [
        ("day", "UTC", "2026-01-05T12:00", "2026-01-05T00:00", 24),
        ("day", BERLIN, "2026-01-05T22:59", "2026-01-04T23:00", 24),
        ("day", BERLIN, "2026-01-05T23:00", "2026-01-05T23:00", 24),
        # The clocks go forward, and back.
        ("day", BERLIN, "2026-03-29T12:00", "2026-03-28T23:00", 23),
        ("day", BERLIN, "2026-10-25T12:00", "2026-10-24T22:00", 25),
        ("month", "UTC", "2026-02-10T00:00", "2026-02-01T00:00", 28 * 24),
        ("month", "UTC", "2026-12-31T23:59", "2026-12-01T00:00", 31 * 24),
        ("month", BERLIN, "2026-03-31T22:00", "2026-03-31T22:00", 30 * 24),
        ("month", BERLIN, "2026-03-31T21:59", "2026-02-28T23:00", 31 * 24 - 1),
    ],
)
def test_periods_begin_at_midnight_of_the_tariff(
    period: str, zone: str, now: str, start: str, hours: int
) -> None:
    tariff = Tariff(name="t", timezone=zone)
    cluster = Cluster(energy_budget_wh=1, energy_period=period, tariff=tariff)

    from_at, until_at = energy_period(cluster, _utc(now))

    assert from_at == _utc(start)
    assert until_at - from_at == timedelta(hours=hours)


def _utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_without_a_tariff_midnight_is_that_of_utc() -> None:
    cluster = Cluster(energy_budget_wh=1, energy_period="day")
    assert energy_period(cluster, _utc("2026-01-05T12:00"))[0] == _utc("2026-01-05T00:00")


def test_a_budget_is_given_over_http_and_calls_a_round(
    operator: ClusterApi, cluster: Cluster
) -> None:
    Cluster.objects.update(next_round_at=timezone.now() + timedelta(hours=1))
    change = {"energy_budget_wh": 5_000_000, "energy_period": "month"}

    done = operator.patch(f"clusters/{cluster.pk}/", change)

    assert done.status_code == 200, done.content
    assert done.json().items() >= change.items()
    cluster.refresh_from_db()
    assert cluster.next_round_at <= timezone.now()
    gone = operator.patch(
        f"clusters/{cluster.pk}/", {"energy_budget_wh": None, "energy_period": None}
    )
    assert gone.json()["energy_budget_wh"] is None


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"energy_budget_wh": 5}, (409, "half_a_budget", "/energy_period")),
        ({"energy_period": "day"}, (409, "half_a_budget", "/energy_period")),
        ({"energy_budget_wh": 0, "energy_period": "day"}, (400, "", "/energy_budget_wh")),
        ({"energy_budget_wh": 10**16, "energy_period": "day"}, (400, "", "/energy_budget_wh")),
        ({"energy_budget_wh": 5, "energy_period": "week"}, (400, "", "/energy_period")),
    ],
)
def test_half_a_budget_is_refused(
    operator: ClusterApi, cluster: Cluster, change: dict[str, Any], expected: tuple[int, str, str]
) -> None:
    status, code, pointer = refusal(operator.patch(f"clusters/{cluster.pk}/", change))
    assert (status, pointer) == (expected[0], expected[2])
    assert code == (expected[1] or code)


@pytest.mark.parametrize(
    "columns",
    [
        {"energy_budget_wh": 5},
        {"energy_period": "day"},
        {"energy_budget_wh": -5, "energy_period": "day"},
        {"energy_budget_wh": 5, "energy_period": "week"},
    ],
)
def test_the_table_refuses_it_too(cluster: Cluster, columns: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Cluster.objects.update(**columns)


def test_power_shows_what_is_left(operator: ClusterApi, cluster: Cluster) -> None:
    path = f"clusters/{cluster.pk}/power/"
    assert operator.get(path).json()["energy"] is None
    Cluster.objects.update(energy_budget_wh=1000, energy_period="month")
    cluster.refresh_from_db()
    from_at, until_at = energy_period(cluster, timezone.now())
    PowerState.objects.create(
        cluster=cluster, energy_from_at=from_at, energy_counted_at=from_at, energy_drawn_j=1.8e6
    )

    shown = operator.get(path).json()["energy"]

    assert shown == {
        "period": "month",
        "from_at": f"{from_at:%Y-%m-%dT%H:%M:%SZ}",
        "until_at": f"{until_at:%Y-%m-%dT%H:%M:%SZ}",
        "budget_wh": 1000,
        "drawn_wh": 500.0,
        "left_wh": 500.0,
        "counted_at": f"{from_at:%Y-%m-%dT%H:%M:%SZ}",
    }
