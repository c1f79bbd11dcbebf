"""Predicted against actual energy, time and cost of attempts, as a report for operators."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.test.utils import CaptureQueriesContext

from clusters.models import Gpu, Node
from energy.ledger.settle import settle
from energy.models import Boot, LedgerRow, Meter
from jobs.models import Allocation, Attempt, Job, Profile
from scheduler_service.factories import NOW, make_gpu_type, make_jobs, make_nodes, make_profile
from scheduling.calibration import cluster_calibration
from tariffs.models import Tariff
from tenancy.roles import Role
from tests.energy.ledger.attempts import Metered, make_priced_cluster
from tests.jobs.conftest import World

SPAN = "from=2026-01-01T00:00:00Z&to=2027-01-01T00:00:00Z"
PREDICTED_MJ = 1_000_000
NOTHING = {"count": 0, "bias": None, "low": None, "high": None}


def report(world: World, cluster_id: int | None = None, query: str = SPAN) -> dict[str, Any]:
    address = f"/api/v1/clusters/{cluster_id or world.cluster.pk}/calibration/?{query}"
    answer = world.api(Role.OPERATOR).get(address)
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def succeed(node: Node, ratios: Sequence[float], profile: Profile, **fields: Any) -> list[Attempt]:
    """Jobs that drew so many times what was predicted, each in one attempt of an hour."""
    values = {"state": Job.State.SUCCEEDED, "ended_at": NOW, "profile": profile, **fields}
    jobs = make_jobs(node.cluster, profile.tenant, len(ratios), **values)
    return [attempt_of(job, node, ratio) for job, ratio in zip(jobs, ratios, strict=True)]


def attempt_of(job: Job, node: Node, ratio: float, number: int = 1) -> Attempt:
    gpu, tenant = Gpu.objects.filter(node=node).earliest("index"), job.tenant
    attempt = Attempt.objects.create(
        job=job,
        tenant=tenant,
        cluster=node.cluster,
        number=number,
        fence=Attempt.objects.count() + 1,
        state=Attempt.State.ENDED,
        gpus=1,
        offered_at=NOW,
        started_at=NOW - timedelta(hours=1),
        ended_at=NOW,
        predicted_gpu_mj=PREDICTED_MJ,
        predicted_host_mj=0,
        predicted_by=Attempt.Prediction.PROFILE,
    )
    whose: dict[str, Any] = {"tenant": tenant, "attempt": attempt, "gpu": gpu}
    Allocation.objects.create(
        **whose, node=node, cpus=0, memory_mib=0, held_at=NOW, released_at=NOW
    )
    boot, _ = Boot.objects.get_or_create(node=node, boot_id="b", first_seen_at=NOW)
    drawn_mj = round(PREDICTED_MJ * ratio)
    Meter.objects.create(
        **whose, boot=boot, start_mj=0, now_mj=drawn_mj, since_at=NOW, until_at=NOW
    )
    return attempt


@pytest.fixture
def resnet(world: World) -> Profile:
    return make_profile(world.ours, "resnet")


@pytest.fixture
def metered(world: World) -> Metered:
    """Expected to run 6000 s at the type's 400 W; has run 3800 s at 300 W."""
    cluster = make_priced_cluster(policy="andreas", policy_parameters={"iterations": 2})
    placed = Metered.place(cluster, gpus=2, estimated_run_s=6000)
    placed.start()
    placed.run(3800, every_ms=5000)
    return placed


def finish(metered: Metered) -> None:
    metered.run(1600, every_ms=5000)
    metered.end()
    metered.deliver()


def test_an_attempt_is_held_against_all_that_was_said_of_it(world: World, metered: Metered) -> None:
    finish(metered)
    settle(metered.attempt.pk, now=metered.now)
    body = report(world, metered.attempt.cluster_id)
    (line,) = body["lines"]
    host_w = metered.agent.node.host_peak_w / metered.agent.node.gpu_set.count()
    cost = (300 + host_w) * 5400 / ((400 + host_w) * 6000)
    expected = {"energy_ratio": 300 * 5400 / (400 * 6000), "time_ratio": 0.9, "cost_ratio": cost}
    for name, ratio in expected.items():
        assert line[name]["count"] == 1
        assert line[name]["low"] == line[name]["bias"] == line[name]["high"]
        assert line[name]["bias"] == pytest.approx(ratio, rel=1e-3)
    assert (line["profile"], line["tenant"], line["predicted_by"]) == (None, None, "nameplate")
    assert (body["attempts"], line["attempts"], line["drifted"]) == (1, 1, False)
    assert report(world, world.cluster.pk)["lines"] == []


def test_money_counts_once_all_of_it_is_in_the_ledger(world: World, metered: Metered) -> None:
    metered.deliver()
    settle(metered.attempt.pk, now=metered.now)
    assert LedgerRow.objects.exists()
    finish(metered)
    (line,) = report(world, metered.attempt.cluster_id)["lines"]
    assert (line["cost_ratio"], line["time_ratio"]["count"]) == (NOTHING, 1)
    settle(metered.attempt.pk, now=metered.now)
    (line,) = report(world, metered.attempt.cluster_id)["lines"]
    assert line["cost_ratio"]["count"] == 1


def test_energy_without_a_price_says_nothing_of_money(world: World, metered: Metered) -> None:
    finish(metered)
    Tariff.objects.update(kind="hourly", price_per_kwh=None)
    settle(metered.attempt.pk, now=metered.now)
    (line,) = report(world, metered.attempt.cluster_id)["lines"]
    assert (line["cost_ratio"], line["energy_ratio"]["count"]) == (NOTHING, 1)


def test_bias_is_the_median_and_the_spread_leaves_out_a_tenth_on_each_side(
    world: World, resnet: Profile
) -> None:
    succeed(world.nodes[0], [0.5 + 0.1 * step for step in range(11)], resnet)
    (line,) = report(world)["lines"]
    ratio = line["energy_ratio"]
    assert (ratio["low"], ratio["bias"], ratio["high"]) == pytest.approx((0.6, 1.0, 1.4))
    assert (ratio["count"], line["time_ratio"], line["cost_ratio"]) == (11, NOTHING, NOTHING)
    assert (line["tenant"], line["profile"], line["gpu_type"]) == ("ours", "resnet", "A100")
    assert (line["profile_id"], line["predicted_by"]) == (resnet.pk, "profile")


@pytest.mark.parametrize(
    ("ratio", "attempts", "drifted"),
    [
        (1.3, 20, True),
        (0.7, 20, True),
        (1.3, 19, False),
        (1.2, 20, False),
        (0.8, 20, False),
        (1.25, 20, False),
    ],
)
def test_drift_takes_twenty_attempts_and_a_quarter(
    world: World, resnet: Profile, ratio: float, attempts: int, drifted: bool
) -> None:
    succeed(world.nodes[0], [ratio] * attempts, resnet)
    (line,) = report(world)["lines"]
    assert line["drifted"] is drifted


def test_lines_are_by_gpu_type_and_profile_and_what_drifted_comes_first(
    world: World, resnet: Profile
) -> None:
    (other,) = make_nodes(world.cluster, make_gpu_type("V100"), 1, prefix="v")
    theirs = make_profile(world.theirs, "resnet")
    succeed(world.nodes[0], [1.0] * 22, resnet)
    succeed(other, [1.0] * 2, resnet)
    succeed(world.nodes[0], [2.0] * 20, theirs)
    body = report(world)
    lines = [(one["tenant"], one["gpu_type"], one["attempts"]) for one in body["lines"]]
    assert lines == [("theirs", "A100", 20), ("ours", "A100", 22), ("ours", "V100", 2)]
    short = report(world, query=f"{SPAN}&limit=1")
    assert (len(short["lines"]), short["attempts"]) == (1, body["attempts"]) == (1, 44)


def test_only_the_attempt_that_ended_its_job_counts(world: World, resnet: Profile) -> None:
    (first,) = succeed(world.nodes[0], [9.0], resnet)
    attempt_of(first.job, world.nodes[1], 1.1, number=2)
    succeed(world.nodes[0], [5.0], resnet, state=Job.State.FAILED)
    (line,) = report(world)["lines"]
    assert line["energy_ratio"]["bias"] == pytest.approx(1.1)
    assert line["attempts"] == 1


@pytest.mark.parametrize(
    "spoil",
    [
        lambda: Attempt.objects.update(predicted_gpu_mj=None, predicted_by=None),
        lambda: Attempt.objects.update(predicted_gpu_mj=0),
        lambda: Meter.objects.all().delete(),
    ],
    ids=["nothing predicted", "nothing expected", "nothing counted"],
)
def test_what_cannot_be_compared_is_left_out(
    world: World, resnet: Profile, spoil: Callable[[], object]
) -> None:
    succeed(world.nodes[0], [1.0], resnet)
    spoil()
    body = report(world)
    assert (body["attempts"], body["lines"]) == (0, [])


def test_one_statement_however_many_attempts(
    world: World, resnet: Profile, django_assert_num_queries: Callable[[int], CaptureQueriesContext]
) -> None:
    succeed(world.nodes[0], [1.0] * 30, resnet)
    span = {"from_at": NOW - timedelta(days=1), "until_at": NOW + timedelta(days=1)}
    with django_assert_num_queries(1):
        found = cluster_calibration(world.cluster, **span, limit=100)
    assert found.attempts == 30


def test_other_times_and_other_callers(world: World, resnet: Profile) -> None:
    succeed(world.nodes[0], [1.0], resnet)
    early = report(world, query="from=2020-01-01T00:00:00Z&to=2020-02-01T00:00:00Z")
    assert (early["attempts"], early["lines"], early["cluster"]) == (0, [], "demo")
    address = f"/api/v1/clusters/{world.cluster.pk}/calibration/"
    operator = world.api(Role.OPERATOR)
    for role in (Role.MEMBER, Role.ADMIN):
        assert world.api(role).get(address).status_code == 403
    assert operator.get("/api/v1/clusters/999999/calibration/").status_code == 404
    backwards = operator.get(f"{address}?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z")
    assert backwards.status_code == 400
