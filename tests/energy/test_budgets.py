"""Of all power budgets in force the smallest counts, a little before it begins."""

from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from clusters.models import Cluster, Partition
from energy.budgets.power import (
    LEAD,
    WattLimits,
    budgets_between,
    budgets_throughout,
    planned_budgets,
    spans,
)
from energy.models import PowerBudget, PowerState
from scheduler_service.factories import NOW, make_cluster

pytestmark = pytest.mark.django_db

HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


def _cluster(**fields: Any) -> Cluster:
    cluster = make_cluster(**fields)
    Cluster.objects.update(updated_at=NOW - HOUR)
    cluster.refresh_from_db()
    return cluster


def _window(cluster: Cluster, watts: int, start: datetime = NOW, **fields: Any) -> PowerBudget:
    values = {"ends_at": start + HOUR, **fields}
    return PowerBudget.objects.create(cluster=cluster, watts=watts, starts_at=start, **values)


def _at(cluster: Cluster, at: datetime) -> WattLimits:
    return budgets_between(cluster, from_at=at, until_at=at + timedelta(microseconds=1))


def test_the_smallest_counts_while_it_is_in_force() -> None:
    cluster = _cluster(power_budget_w=5000)
    _window(cluster, 3000)
    _window(cluster, 4000, ends_at=None)

    watts = [_at(cluster, NOW + at).cluster_w for at in (-MINUTE, MINUTE, HOUR, 99 * HOUR)]

    assert watts == [5000, 3000, 4000, 4000]


def test_without_any_there_is_no_bound() -> None:
    assert _at(_cluster(), NOW) == WattLimits(inf, {})


def test_a_partition_has_its_own() -> None:
    cluster = _cluster(power_budget_w=5000)
    prod = Partition.objects.create(cluster=cluster, name="prod")
    _window(cluster, 900, partition=prod)
    _window(cluster, 700, partition=prod)

    found = _at(cluster, NOW)

    assert (found.cluster_w, found.of(prod.pk), found.of(None)) == (5000, 700, 5000)
    assert found.of(prod.pk + 1) == inf


def test_a_partition_of_another_cluster_is_refused_by_the_database() -> None:
    prod = Partition.objects.create(cluster=_cluster(), name="prod")
    other = make_cluster("other")
    with pytest.raises(IntegrityError), transaction.atomic():
        _window(other, 900, partition=prod)


def test_rounds_plan_with_it_before_it_begins_and_until_it_ends() -> None:
    cluster = _cluster(power_budget_w=5000)
    _window(cluster, 3000)
    second = timedelta(seconds=1)

    planned = [
        planned_budgets(cluster, now=NOW + at).cluster_w
        for at in (-LEAD - second, -LEAD + second, HOUR - second, HOUR)
    ]

    assert planned == [5000, 3000, 3000, 5000]


def test_rounds_plan_with_what_their_model_is_wrong_by() -> None:
    cluster = _cluster(power_budget_w=5000)
    prod = Partition.objects.create(cluster=cluster, name="prod")
    _window(cluster, 900, partition=prod)
    PowerState.objects.create(cluster=cluster, correction_w=120)
    PowerState.objects.create(cluster=cluster, partition=prod, correction_w=10)

    planned = planned_budgets(cluster, now=NOW)

    assert (planned.cluster_w, planned.of(prod.pk)) == (4880, 890)


def test_only_what_was_in_force_all_the_time_can_have_been_broken() -> None:
    cluster = _cluster(power_budget_w=5000)
    _window(cluster, 3000)

    def throughout(start: timedelta) -> float:
        begin = NOW + start
        return budgets_throughout(cluster, from_at=begin, until_at=begin + MINUTE).cluster_w

    assert [throughout(at) for at in (-MINUTE / 2, timedelta(0), HOUR - MINUTE / 2)] == [
        5000, 3000, 5000,
    ]  # fmt: skip
    Cluster.objects.update(updated_at=NOW)
    cluster.refresh_from_db()
    assert throughout(-MINUTE) == inf


def test_daily_by_the_wall_clock_over_midnight_and_daylight_saving() -> None:
    """From 22:30 until 06:00 in Berlin, where the clocks go forward on 29 March 2026."""
    begin = datetime(2026, 3, 28, 12, tzinfo=UTC)
    row = _window(
        _cluster(), 3000, begin, ends_at=begin + timedelta(days=2), from_minute=1350,
        to_minute=360, timezone="Europe/Berlin",
    )  # fmt: skip

    found = spans(row, begin, begin + timedelta(days=2))

    assert found == [
        (datetime(2026, 3, 28, 21, 30, tzinfo=UTC), datetime(2026, 3, 29, 4, tzinfo=UTC)),
        (datetime(2026, 3, 29, 20, 30, tzinfo=UTC), datetime(2026, 3, 30, 4, tzinfo=UTC)),
    ]


@pytest.mark.parametrize(
    "wrong",
    [
        {"watts": 0},
        {"ends_at": NOW},
        {"from_minute": 60},
        {"from_minute": 60, "to_minute": 60},
        {"from_minute": 60, "to_minute": 1440},
    ],
)
def test_what_means_nothing_is_refused_by_the_database(wrong: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        _window(_cluster(), **{"watts": 10, **wrong})
