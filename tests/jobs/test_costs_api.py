"""What ANDREAS expected a job to cost, stored with its decision, against the ledger."""

from datetime import timedelta
from decimal import Decimal

import pytest

from jobs.ledger.settle import settle
from jobs.models import Decision
from tenancy.roles import Role
from tests.jobs.conftest import World
from tests.jobs.ledger.attempts import Metered, make_priced_cluster
from tests.jobs.scheduling.world import NOW

SPAN = "from=2026-01-01T00:00:00Z&to=2027-01-01T00:00:00Z"
PRICE_J = Decimal("0.36") * Decimal("1.5") / 3_600_000


@pytest.fixture
def ended(world: World) -> Metered:
    """Expected to run 6000 s at the type's 400 W; runs 5400 s at 300 W, half an hour late."""
    cluster = make_priced_cluster(policy="andreas", policy_parameters={"iterations": 2})
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
    assert expected["energy_cost"] == pytest.approx(watts * 6000 * float(PRICE_J))
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
    assert float(line["actual_energy"]) == pytest.approx(watts * 5400 * float(PRICE_J), rel=1e-3)
    assert Decimal(line["predicted"]) == Decimal(line["predicted_energy"]) + Decimal(
        line["predicted_tardiness"]
    )
    off = float(line["actual"]) / float(line["predicted"]) - 1
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
