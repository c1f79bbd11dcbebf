"""A quote says what a submit would come to, by the rules of a submit, and stores nothing."""

from decimal import Decimal
from typing import Any

import pytest

from jobs.models import Job
from scheduler_service.factories import make_jobs
from tariffs.services.tariffs import tariff_create
from tenancy.callers import SYSTEM
from tenancy.models import AuditRow
from tests.api import Api
from tests.jobs.conftest import SUBMIT, World

pytestmark = pytest.mark.django_db
QUOTES = "/api/v1/quotes/"


def quoted(api: Api, **fields: Any) -> dict[str, Any]:
    answer = api.post(QUOTES, {**SUBMIT, "estimated_run_s": 3600, **fields})
    assert answer.status_code == 200, answer.content
    found: dict[str, Any] = answer.json()
    return found


def test_a_job_that_fits_would_start_on_a_node_at_a_price(world: World, member: Api) -> None:
    tariff = {"name": "f", "kind": "flat", "price_per_kwh": Decimal("0.5")}
    world.cluster.tariff = tariff_create(caller=SYSTEM, values=tariff)
    world.cluster.save()
    found = quoted(member, gpus=2)
    assert (found["dry_run"], found["starts_now"], found["reason"]) == (True, True, "")
    assert found["nodes"] == [world.nodes[0].name]
    assert found["start_low_at"] <= found["start_at"] <= found["start_high_at"]
    assert found["start_at"] < found["finish_at"]
    assert Decimal(found["cost"]) == pytest.approx(Decimal(found["kwh"]) / 2, rel=Decimal("1e-4"))


def test_a_job_that_waits_hears_why_and_until_when(world: World, member: Api) -> None:
    make_jobs(world.cluster, world.theirs, 2, min_gpus=4, max_gpus=4, estimated_run_s=600)
    found = quoted(member, gpus=4)
    assert (found["starts_now"], found["reason"], found["nodes"]) == (False, "outranked", [])
    assert "rank before it" in found["text"]
    assert found["start_at"] is not None


def test_a_job_that_can_never_run_has_no_time(world: World, member: Api) -> None:
    found = quoted(member, gpus=64)
    assert found["reason"] == "larger_than_partition"
    assert (found["start_at"], found["cost"]) == (None, None)
    assert found["remedies"][0]["action"] == "reduce_gpus"


def test_nothing_is_stored(world: World, member: Api) -> None:
    audited = AuditRow.objects.count()
    quoted(member)
    assert not Job.objects.exists()
    assert AuditRow.objects.count() == audited
    assert world.nudged == []


def test_it_is_refused_by_the_rules_of_a_submit(world: World, member: Api) -> None:
    unknown = member.post(QUOTES, {**SUBMIT, "cluster": "nowhere"})
    assert (unknown.status_code, unknown.json()["code"]) == (409, "unknown_cluster")
    assert member.post(QUOTES, {**SUBMIT, "gpus": 0}).status_code == 400
