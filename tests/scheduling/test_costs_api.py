"""What ANDREAS expected a job to cost, stored with its decision, against the ledger."""

from datetime import timedelta
from decimal import Decimal

import pytest

from agent.wire import End
from energy.ledger.settle import settle
from energy.models import LedgerRow
from policies.contract.plan import Expected, Move, Piece, Plan
from scheduler_service.factories import NOW
from scheduling import record
from scheduling.apply.apply import apply_plan
from scheduling.models import Decision
from scheduling.snapshot.load import load_snapshot
from tenancy.roles import Role
from tests.energy.ledger.attempts import Metered, make_priced_cluster
from tests.energy.telemetry.readings import Gpu
from tests.jobs.conftest import World

SPAN = "from=2026-01-01T00:00:00Z&to=2027-01-01T00:00:00Z"
PRICE_J = Decimal("0.36") * Decimal("1.5") / 3_600_000


@pytest.fixture
def ended(world: World) -> Metered:
    """Expected to run 6000 s at the type's 400 W; runs 5400 s at 300 W, half an hour late."""
    cluster = make_priced_cluster(
        policy="andreas", policy_parameters={"iterations": 2}, max_tardiness_price_per_h=2
    )
    metered = Metered.place(
        cluster,
        gpus=2,
        estimated_run_s=6000,
        deadline_at=NOW + timedelta(seconds=3600),
        tardiness_price_per_h=Decimal(2),
    )
    metered.start()
    metered.run(5400, every_ms=5000)
    metered.end()
    metered.deliver()
    settle(metered.attempt.pk, now=metered.now)
    return metered


def test_the_decision_keeps_what_was_expected(ended: Metered) -> None:
    decision = Decision.objects.get(job=ended.job, action="start")
    expected = decision.evidence["expected"]
    node = ended.agent.node
    watts = 2 * (400 + node.host_peak_w / node.gpu_set.count())
    assert expected["run_s"] == 6000
    assert expected["full_energy_cost"] == pytest.approx(watts * 6000 * float(PRICE_J))
    assert expected["tardiness_cost"] == pytest.approx(2400 * 2 / 3600)


def test_costs_show_predicted_against_ledger(world: World, ended: Metered) -> None:
    cluster = ended.attempt.cluster_id
    body = world.api(Role.OPERATOR).get(f"/api/v1/clusters/{cluster}/costs/?{SPAN}").json()
    assert (body["jobs"], body["currency"]) == (1, "EUR")
    (line,) = body["lines"]
    late_s = (ended.job.ended_at - ended.job.deadline_at).total_seconds()  # type: ignore[operator]
    assert float(line["actual_tardiness"]) == pytest.approx(late_s * 2 / 3600)
    node = ended.agent.node
    watts = 2 * (300 + node.host_peak_w / node.gpu_set.count())
    assert float(line["actual_full_energy"]) == pytest.approx(
        watts * 5400 * float(PRICE_J), rel=1e-3
    )
    assert Decimal(line["predicted_full"]) == Decimal(line["predicted_full_energy"]) + Decimal(
        line["predicted_tardiness"]
    )
    off = float(line["actual_full"]) / float(line["predicted_full"]) - 1
    assert line["deviation"] == pytest.approx(off)
    assert body["totals"] == {k: v for k, v in line.items() if k not in {"job_id", "name"}}


def test_costs_leave_out_other_times_and_other_callers(world: World, ended: Metered) -> None:
    address = f"/api/v1/clusters/{ended.attempt.cluster_id}/costs/"
    operator = world.api(Role.OPERATOR)
    early = operator.get(f"{address}?from=2020-01-01T00:00:00Z&to=2020-02-01T00:00:00Z").json()
    assert (early["jobs"], early["lines"], early["totals"]["deviation"]) == (0, [], None)
    assert world.api(tenant=ended.job.tenant).get(address).status_code == 403
    assert operator.get("/api/v1/clusters/999999/costs/").status_code == 404
    backwards = operator.get(f"{address}?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z")
    assert backwards.status_code == 400


def _move(metered: Metered, expected: Expected) -> Metered:
    """As a round: the job goes on with the node's other GPU, and is expected to cost so much."""
    cluster, now = metered.attempt.cluster, metered.now
    snapshot = load_snapshot(cluster, now=now, seed=0)
    piece = Piece(metered.agent.node.pk, 0b10, 1, 1024)
    plan = Plan(moves=(Move(metered.job.pk, (piece,)),), expected=(expected,))
    planned = record.Planned(snapshot, 0.0, plan)
    entry = record.planned(cluster, planned, now=now)
    applied = apply_plan(plan, cluster_id=cluster.pk, round_id=entry.pk, now=now)
    assert applied.stale == []
    record.applied(entry, planned, applied)
    metered.end(end=End.STOPPED, exit_code=None, signal=15)
    metered.deliver()
    (wanted,) = metered.agent.sync(now=now).attempts
    (uuid,) = wanted.gpu_uuids
    return Metered(metered.agent, wanted, [Gpu(uuid, boot_ms=metered.gpus[0].boot_ms)])


def _expecting(job_id: int) -> Expected:
    return Expected(
        job=job_id,
        run_s=4000.0,
        marginal_energy_cost=4.0,
        full_energy_cost=9.0,
        tardiness_cost=0.5,
        tardiness_weight=0.001,
    )


@pytest.fixture
def moved(world: World) -> Metered:
    """Runs for a quarter of the 6000 s that were expected first, then for 4000 s elsewhere."""
    cluster = make_priced_cluster(policy="andreas", policy_parameters={"iterations": 2})
    metered = Metered.place(cluster, estimated_run_s=6000, deadline_at=NOW)
    metered.start()
    metered.run(1500, every_ms=5000)
    after = _move(metered, _expecting(metered.job.pk))
    after.start()
    after.run(4000, every_ms=5000)
    after.end()
    after.deliver()
    for attempt in (metered.attempt, after.attempt):
        settle(attempt.pk, now=after.now)
    return after


def _line(world: World, metered: Metered) -> dict[str, str]:
    cluster = metered.attempt.cluster_id
    body = world.api(Role.OPERATOR).get(f"/api/v1/clusters/{cluster}/costs/?{SPAN}").json()
    (line,) = body["lines"]
    return dict(line)


def test_what_was_expected_of_a_move_replaces_the_rest_of_the_first(
    world: World, moved: Metered
) -> None:
    first = Decision.objects.get(action="start").evidence["expected"]
    second = Decision.objects.get(action="move").evidence["expected"]
    assert (second["full_energy_cost"], second["run_s"]) == (9.0, 4000.0)

    line = _line(world, moved)

    quarter = first["full_energy_cost"] * 1500 / 6000
    assert float(line["predicted_full_energy"]) == pytest.approx(quarter + 9.0, rel=1e-4)
    assert float(line["predicted_tardiness"]) == 0.5
    assert float(line["actual_tardiness"]) == pytest.approx(5500 * 0.001, rel=1e-2)
    paid = sum(row.cost for row in LedgerRow.objects.all())
    assert set(LedgerRow.objects.values_list("attempt__number", flat=True)) == {1, 2}
    assert Decimal(line["actual_full_energy"]) == paid


def test_attempts_before_the_first_prediction_are_left_out(world: World, moved: Metered) -> None:
    Decision.objects.filter(action="start").delete()

    line = _line(world, moved)

    assert float(line["predicted_full_energy"]) == 9.0
    rows = LedgerRow.objects.filter(attempt=moved.attempt)
    assert Decimal(line["actual_full_energy"]) == sum(row.cost for row in rows)


def test_the_last_prediction_covers_what_nobody_predicted_after_it(
    world: World, moved: Metered
) -> None:
    first = Decision.objects.get(action="start").evidence["expected"]
    Decision.objects.filter(action="move").delete()

    line = _line(world, moved)

    assert float(line["predicted_full_energy"]) == pytest.approx(first["full_energy_cost"])
    assert Decimal(line["actual_full_energy"]) == sum(row.cost for row in LedgerRow.objects.all())


def test_a_move_that_came_to_nothing_changes_nothing(world: World, moved: Metered) -> None:
    Decision.objects.filter(action="move").update(applied=False)
    first = Decision.objects.get(action="start").evidence["expected"]
    assert float(_line(world, moved)["predicted_full_energy"]) == pytest.approx(
        first["full_energy_cost"]
    )
