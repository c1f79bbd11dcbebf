"""Forecast, expectation, prediction and ledger agree on what a job costs that runs as foreseen."""

from dataclasses import dataclass
from decimal import Decimal

import pytest

from clusters.models import Cluster, Node
from energy.ledger.settle import settle
from energy.models import LedgerRow
from policies.registry import build
from scheduler_service.factories import NOW, make_jobs, make_profile, make_tenant
from scheduling.costs import cluster_costs
from scheduling.models import Decision
from scheduling.round import run_round
from scheduling.snapshot.load import load_snapshot
from simulator.engine import Pace
from simulator.forecast import estimate
from simulator.live import EnergyTerms, Guess
from tariffs.curves import pure_tariff
from tests.energy.ledger.attempts import Metered, make_priced_cluster
from tests.energy.telemetry.readings import Gpu
from tests.engines.agents.nodes import join

pytestmark = pytest.mark.django_db

RUN_S, GPU_W, IDLE_W, HOST_IDLE_W, HOST_PEAK_W, NODE_GPUS, GPUS = 5400, 310, 50, 200, 1000, 4, 2
PER_W = 1.5 * 0.36 * RUN_S / 3.6e6
FULL = GPUS * (GPU_W + HOST_PEAK_W / NODE_GPUS) * PER_W
MARGINAL = GPUS * (GPU_W - IDLE_W + (HOST_PEAK_W - HOST_IDLE_W) / NODE_GPUS) * PER_W


@dataclass
class Told:
    """What each of the four said, in money; and the cluster, to be asked for its report."""

    forecast: float
    expected: dict[str, float]
    predicted: float
    billed: float
    cluster: Cluster


def _forecast(cluster: Cluster) -> float:
    """Of the one job that is queued."""
    from_s = int(NOW.timestamp())
    assert cluster.tariff is not None
    price = pure_tariff(cluster.tariff, from_s, from_s + 86_400).curve(from_s, from_s + 86_400)
    snapshot = load_snapshot(cluster, now=NOW, seed=0)
    policy = build(cluster.policy, cluster.policy_parameters)
    found = estimate(snapshot, policy, Pace(), Guess(), members=0, terms=EnergyTerms(price=price))
    return float(found.full_cost[0])


@pytest.fixture(params=["fairwatt", "andreas"])
def told(request: pytest.FixtureRequest) -> Told:
    """A job of two GPUs of four that draws, and lasts, exactly what its profile says."""
    cluster = make_priced_cluster(policy=request.param)
    agent, tenant = join(cluster, "n1", gpus=NODE_GPUS), make_tenant()
    Node.objects.update(host_idle_w=HOST_IDLE_W, host_peak_w=HOST_PEAK_W)
    point = {"gpu_type": "A100", "gpus": GPUS, "steps_per_s": 2.0, "watts_per_gpu": GPU_W}
    profile = make_profile(tenant, "p", [point])
    work = {"profile": profile, "work_total": 2 * RUN_S}
    make_jobs(cluster, tenant, 1, min_gpus=GPUS, max_gpus=GPUS, **work)
    forecast = _forecast(cluster)

    run_round(cluster.pk, now=NOW)
    (wanted,) = agent.sync().attempts
    metered = Metered(agent, wanted, [Gpu(uuid) for uuid in wanted.gpu_uuids])
    metered.start()
    metered.run(RUN_S, GPU_W * 1000, every_ms=5000)
    metered.end()
    metered.deliver()
    settle(metered.attempt.pk, now=metered.now)

    attempt = metered.attempt
    predicted_mj = (attempt.predicted_gpu_mj or 0) + (attempt.predicted_host_mj or 0)
    return Told(
        forecast=forecast,
        expected=Decision.objects.get(action="start").evidence["expected"],
        predicted=predicted_mj / 3.6e9 * 1.5 * 0.36,
        billed=float(sum(row.cost for row in LedgerRow.objects.all())),
        cluster=cluster,
    )


def test_the_four_agree(told: Told) -> None:
    assert told.forecast == pytest.approx(FULL)
    assert told.expected["full_energy_cost"] == pytest.approx(FULL)
    assert told.predicted == pytest.approx(FULL)
    assert told.billed == pytest.approx(FULL)
    assert told.expected["marginal_energy_cost"] == pytest.approx(MARGINAL)


def test_the_report_compares_full_with_full(told: Told) -> None:
    from_at, until_at = NOW.replace(month=1), NOW.replace(year=NOW.year + 1)
    totals = cluster_costs(told.cluster, from_at=from_at, until_at=until_at, limit=1).totals
    assert totals["deviation"] == pytest.approx(0.0, abs=1e-6)
    assert totals["predicted_full_energy"] == pytest.approx(Decimal(FULL))
    assert totals["predicted_marginal_energy"] == pytest.approx(Decimal(MARGINAL))
    assert totals["actual_full_energy"] == pytest.approx(Decimal(FULL))
