"""Whose word counts: what a tenant may promise for its lateness is what operators let it."""

from datetime import timedelta
from decimal import Decimal

import pytest

from clusters.models import Cluster
from jobs.models import Job
from scheduler_service.factories import NOW, make_cluster, make_jobs, make_tenant
from scheduling.snapshot.load import load_snapshot
from tests.api import Api
from tests.jobs.conftest import JOBS, SUBMIT, Submit, World

pytestmark = pytest.mark.django_db
CLAIM = {"deadline_at": "2126-02-01T20:00:00Z", "tardiness_price_per_h": "0.100001"}


def test_without_a_bound_of_its_own_a_tenant_has_the_clusters(
    stranger: Api, operator: Api, world: World
) -> None:
    refused = stranger.post(JOBS, {**SUBMIT, **CLAIM})
    assert refused.status_code == 409
    (error,) = refused.json()["errors"]
    assert (error["code"], error["pointer"]) == ("price_above_bound", "/tardiness_price_per_h")
    assert "0.1 per hour" in error["detail"]
    assert (
        stranger.post(JOBS, {**SUBMIT, **CLAIM, "tardiness_price_per_h": "0.1"}).status_code < 300
    )

    changes = {"max_tardiness_price_per_h": "0.2"}
    address = f"/api/v1/clusters/{world.cluster.pk}/"
    assert operator.patch(address, changes, headers={"If-Match": "*"}).status_code < 300
    assert stranger.post(JOBS, {**SUBMIT, **CLAIM}).status_code < 300


def test_operators_raise_and_lower_a_tenants_bound(
    stranger: Api, operator: Api, world: World
) -> None:
    address = f"/api/v1/tenants/{world.theirs.pk}/"
    for bound, status in (("7", 201), ("0", 409), (None, 409)):
        changes = {"max_tardiness_price_per_h": bound}
        assert operator.patch(address, changes, headers={"If-Match": "*"}).status_code < 300
        assert stranger.post(JOBS, {**SUBMIT, **CLAIM}).status_code == status


def test_a_bound_is_not_a_tenants_to_change(world: World, member: Api) -> None:
    address = f"/api/v1/tenants/{world.ours.pk}/"
    changes = {"max_tardiness_price_per_h": "1000"}
    assert member.patch(address, changes, headers={"If-Match": "*"}).status_code == 403


def test_in_a_bulk_and_an_array_the_pointer_says_where(stranger: Api) -> None:
    past = {**SUBMIT, "deadline_at": "2026-02-01T20:00:00Z"}
    jobs = [SUBMIT, {**SUBMIT, **CLAIM}, past]
    body = stranger.post(f"{JOBS}bulk/", {"jobs": jobs}).json()
    problems = [item["problem"] for item in body["items"] if item["id"] is None]
    found = [(p["errors"][0]["code"], p["errors"][0]["pointer"]) for p in problems]
    assert found == [
        ("price_above_bound", "/jobs/1/tardiness_price_per_h"),
        ("deadline_passed", "/jobs/2/deadline_at"),
    ]
    many = stranger.post("/api/v1/arrays/", {"name": "a", "size": 2, "job": {**SUBMIT, **CLAIM}})
    assert many.status_code == 409
    assert many.json()["errors"][0]["pointer"] == "/job/tardiness_price_per_h"
    assert Job.objects.count() == 1


def test_what_is_sent_again_unchanged_is_no_new_claim(member: Api, submit: Submit) -> None:
    job = submit(deadline_at="2126-02-01T20:00:00Z", tardiness_price_per_h="4")
    over = NOW - timedelta(days=3650)
    Job.objects.update(deadline_at=NOW, submitted_at=over)
    Cluster.objects.update(max_tardiness_price_per_h=1)
    job.tenant.max_tardiness_price_per_h = Decimal(1)
    job.tenant.save()
    same = {"deadline_at": NOW.isoformat(), "tardiness_price_per_h": "4", "priority": 51}
    answer = member.patch(f"{JOBS}{job.pk}/", same, headers={"If-Match": "*"})
    assert answer.status_code == 200, answer.content


def test_rounds_reckon_with_no_more_than_the_bound() -> None:
    """A bound that is lowered counts at once, for jobs that named more before, too."""
    cluster = make_cluster(max_tardiness_price_per_h=Decimal("3.6"))
    bounded, free = make_tenant("bounded", max_tardiness_price_per_h=Decimal("0.36")), make_tenant()
    for tenant in (bounded, free):
        make_jobs(cluster, tenant, 1, tardiness_price_per_h=Decimal("7.2"))
        make_jobs(cluster, tenant, 1, tardiness_price_per_h=Decimal("0.18"))
    weights = load_snapshot(cluster, now=NOW, seed=0).jobs.tardiness_weight
    assert weights.tolist() == pytest.approx([0.0001, 0.00005, 0.001, 0.00005])
