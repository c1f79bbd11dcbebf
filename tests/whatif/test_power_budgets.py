"""A power budget is asked for, ordered, proven and withdrawn over HTTP."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from clusters.models import Cluster, Node
from energy.budgets.proof import proof
from energy.models import PowerBreach, PowerBudget, PowerState
from energy.telemetry.roll_up import roll_up
from rest.structs import node_of
from scheduler_service.factories import NOW, make_jobs
from tenancy.models import AuditRow
from tests.api import Api
from tests.energy.telemetry.readings import Gpu, take
from tests.engines.agents.nodes import join
from tests.jobs.conftest import World
from whatif.api.power_structs import EstimateOut

pytestmark = pytest.mark.django_db

ESTIMATE = node_of(EstimateOut).example()
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


def _address(world: World, row: int | None = None) -> str:
    return f"/api/v1/clusters/{world.cluster.pk}/power-budget/" + (f"{row}/" if row else "")


def _post(api: Api, world: World, **fields: Any) -> Any:
    ends_at = (timezone.now() + HOUR).isoformat()
    return api.post(_address(world), {"watts": 1900, "ends_at": ends_at, **fields})


@pytest.fixture
def queue(world: World) -> None:
    """Two jobs that would hold all eight GPUs: 400 W each, 60 W when idle."""
    Node.objects.update(host_idle_w=0, host_peak_w=0)
    now = timezone.now()
    whole = {"min_gpus": 4, "max_gpus": 4, "estimated_run_s": 7200, "submitted_at": now}
    make_jobs(world.cluster, world.ours, 2, **whole)


def test_a_question_says_what_would_be_shed_and_does_nothing(
    operator: Api, world: World, queue: None
) -> None:
    answer = _post(operator, world)

    assert answer.status_code == 200, answer.content
    body = answer.json()
    assert (body["id"], body["watts"], body["cluster"]) == (None, 1900, "demo")
    estimate = body["estimate"]
    # Both jobs: 8 x 400 W. One of them: 4 x 400 W and 4 x 60 W.
    assert (estimate["baseline_w"], estimate["expected_w"]) == pytest.approx((3200, 1840))
    assert (estimate["jobs"], estimate["jobs_delayed"], estimate["feasible"]) == (2, 1, True)
    assert estimate["worst_delay_s"] == pytest.approx(3600, abs=60)
    assert not PowerBudget.objects.exists()
    assert not AuditRow.objects.filter(action="power_budget.order").exists()


def test_an_order_is_kept_with_what_was_foreseen_and_asks_for_a_round(
    operator: Api, world: World, queue: None
) -> None:
    Cluster.objects.update(next_round_at=timezone.now() + HOUR)

    answer = _post(operator, world, dry_run=False, reason="peak")

    body = answer.json()
    row = PowerBudget.objects.get()
    assert (body["id"], row.reason, row.ordered_by) == (row.pk, "peak", "operator test")
    assert answer["Location"] == _address(world, row.pk)
    assert answer["ETag"] == f'"power-budget{row.pk}-1"'
    assert row.estimate is not None
    assert row.estimate["baseline_w"] == pytest.approx(3200)
    assert Cluster.objects.get(pk=world.cluster.pk).next_round_at <= timezone.now()
    assert AuditRow.objects.filter(action="power_budget.order").count() == 1
    listed = operator.get(_address(world)).json()["items"]
    assert [item["id"] for item in listed] == [row.pk]


def test_the_same_order_twice_is_one(operator: Api, world: World) -> None:
    body = {"watts": 900, "dry_run": False, "starts_at": "2099-01-01T00:00:00Z"}
    first, again = (
        operator.post(_address(world), body, {"Idempotency-Key": "call-118"}) for _ in range(2)
    )

    assert first.json() == again.json()
    assert PowerBudget.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({"watts": 0}, 400, None),
        ({"surprise": 1}, 400, None),
        ({"ends_at": "2020-01-01T00:00:00Z"}, 422, "window_over"),
        ({"from_minute": 60}, 422, "half_a_day"),
        ({"from_minute": 60, "to_minute": 60}, 422, "half_a_day"),
        ({"timezone": "Europe/Atlantis"}, 422, "unknown_timezone"),
        ({"partition": "elsewhere"}, 409, "unknown_partition"),
    ],
)
def test_what_means_nothing_is_refused(
    operator: Api, world: World, fields: dict[str, Any], status: int, code: str | None
) -> None:
    answer = _post(operator, world, **fields)

    assert answer.status_code == status, answer.content
    if code is not None:
        assert answer.json()["errors"][0]["code"] == code


def test_tenants_may_neither_ask_nor_look(member: Api, world: World) -> None:
    assert _post(member, world).status_code == 403
    assert member.get(_address(world)).status_code == 403
    assert member.get(f"/api/v1/clusters/{world.cluster.pk}/power/").status_code == 403


def test_another_clusters_budget_is_not_found(operator: Api, world: World) -> None:
    other = Cluster.objects.create(name="other")
    row = PowerBudget.objects.create(cluster=other, watts=9, starts_at=NOW)

    assert operator.get(_address(world, row.pk)).status_code == 404


def test_withdrawing_ends_what_has_begun_and_deletes_what_has_not(
    operator: Api, world: World
) -> None:
    now = timezone.now()
    begun = PowerBudget.objects.create(cluster=world.cluster, watts=9, starts_at=now - HOUR)
    ahead = PowerBudget.objects.create(cluster=world.cluster, watts=9, starts_at=now + HOUR)

    for row in (begun, ahead):
        answer = operator.delete(_address(world, row.pk), {"If-Match": "*"})
        assert answer.status_code == 204, answer.content

    begun.refresh_from_db()
    assert begun.ends_at is not None
    assert now <= begun.ends_at <= timezone.now()
    assert not PowerBudget.objects.filter(pk=ahead.pk).exists()


def _drawn(world: World, watts: int, minutes: int = 3) -> None:
    """A node of two GPUs draws so much each from NOW on, beside a host of 100 W."""
    node = join(world.cluster, "metered", gpus=2).node
    Node.objects.filter(pk=node.pk).update(host_idle_w=100, host_peak_w=100)
    for index in range(2):
        gpu = Gpu(f"GPU-metered-{index}")
        gpu.run(60 * minutes, watts * 1000)
        take(node, gpu.samples, now=NOW + minutes * MINUTE)
    roll_up(NOW, NOW + minutes * MINUTE)


def test_the_proof_is_what_was_measured(operator: Api, world: World) -> None:
    _drawn(world, 200)
    row = PowerBudget.objects.create(
        cluster=world.cluster,
        watts=490,
        starts_at=NOW + MINUTE / 2,
        ends_at=NOW + HOUR,
        estimate={
            **ESTIMATE,
            "until_at": "2026-01-05T13:00:00Z",
            "curve": [{"at": "2026-01-05T12:00:30Z", "baseline_w": 800.0, "expected_w": 480.0}],
        },
    )

    found = proof(row, now=NOW + HOUR)

    assert [minute.at for minute in found.minutes] == [NOW + MINUTE, NOW + 2 * MINUTE]
    assert {minute.measured_w for minute in found.minutes} == {500}
    assert {minute.unread_gpus for minute in found.minutes} == {8}
    assert (found.within, found.worst_w, found.energy_j) == (0.0, 500, 60_000)
    assert found.energy_not_drawn_j == pytest.approx(2 * 60 * 300)
    PowerBudget.objects.update(watts=491)
    row.refresh_from_db()
    assert proof(row, now=NOW + HOUR).within == 1.0
    shown = operator.get(_address(world, row.pk)).json()
    assert len(shown["proof"]["minutes"]) == 2


def test_without_readings_nothing_is_proven(world: World) -> None:
    row = PowerBudget.objects.create(cluster=world.cluster, watts=490, starts_at=NOW)

    found = proof(row, now=NOW + HOUR)

    assert (found.minutes, found.within, found.energy_not_drawn_j) == ([], None, None)


def test_power_shows_the_last_minute_and_the_breaches(operator: Api, world: World) -> None:
    PowerState.objects.create(cluster=world.cluster, budget_w=900, measured_w=950, correction_w=50)
    PowerBreach.objects.create(
        cluster=world.cluster, budget_w=900, worst_w=950, began_at=NOW, seen_at=NOW
    )

    shown = operator.get(f"/api/v1/clusters/{world.cluster.pk}/power/").json()

    assert [state["correction_w"] for state in shown["states"]] == [50]
    assert [(each["worst_w"], each["ended_at"]) for each in shown["breaches"]] == [(950, None)]
