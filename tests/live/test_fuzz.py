"""The fuzzer runs, counts and finds; the campaign itself is `make fuzz`."""

import random
import re

import pytest
import requests

from tests.fuzz.aim import Aim
from tests.fuzz.campaign import ROLES, budgets, campaign
from tests.fuzz.report import Report
from tests.fuzz.stage import Stage
from tests.fuzz.traffic import Traffic, counted, templates
from tests.live.conftest import Live
from tests.live.world import World

PATHS = ["/api/v1/jobs/{id}/", "/api/v1/jobs/bulk/", "/api/v1/jobs/"]


def test_two_hundred_requests_find_nothing(
    changing_live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one role at one resource: most of the time goes into getting ready for them."""
    monkeypatch.setattr("tests.fuzz.campaign.ROLES", {"operator": 1})
    monkeypatch.setattr("tests.fuzz.campaign.EDGES", {})
    report = Report(started_s=0.0, wanted=200)
    stage = Stage(changing_live.url, changing_live.world)
    campaign(stage, report.wanted, 1, report, below="/api/v1/jobs/")
    assert report.exit_code == 0, report.summary(now_s=0.0)
    assert 200 <= report.traffic.total < 210


def test_every_role_gets_its_share_and_the_shares_make_the_whole() -> None:
    assert [role for role, _ in budgets(1000)] == list(ROLES)
    assert dict(budgets(1000))["operator"] == 1000
    assert dict(budgets(7))["operator"] == 7


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("/api/v1/jobs/7/", "GET /api/v1/jobs/{id}/"),
        ("/api/v1/jobs/7", "GET /api/v1/jobs/{id}/"),
        ("/api/v1/jobs/bulk/", "GET /api/v1/jobs/bulk/"),
        ("/api/v1/nonsense/", "GET elsewhere"),
    ],
)
def test_requests_are_counted_by_operation(live: Live, path: str, label: str) -> None:
    traffic = Traffic(templates(PATHS), role="none")
    answered: list[int] = []
    with counted(traffic, lambda: answered.append(traffic.total)):
        requests.get(live.url + path, timeout=30)
    assert traffic.sent == {("none", label): 1}
    assert answered == [1]
    assert sum(traffic.statuses.values()) == 1


def test_nothing_leaves_this_machine() -> None:
    with (
        counted(Traffic([]), lambda: None),
        pytest.raises(RuntimeError, match=re.escape("may not send to http://192.0.2.1")),
    ):
        requests.get("http://192.0.2.1/", timeout=1)


def test_a_server_error_fails_the_campaign() -> None:
    report = Report(started_s=0.0, wanted=0)
    assert report.exit_code == 0
    request = requests.Request("GET", "http://127.0.0.1/api/v1/jobs/").prepare()
    answer = requests.Response()
    answer.status_code = 500
    report.traffic.note(request, answer)
    assert report.exit_code == 1
    assert "unexpected 5xx: 1" in report.summary(now_s=1.0)


def test_too_few_requests_fail_the_campaign() -> None:
    assert Report(started_s=0.0, wanted=1).exit_code == 1


def test_references_are_aimed_at_rows_that_exist() -> None:
    world = World(ours={"tenants": 1, "jobs": 4}, shared={"clusters": 2})
    aim = Aim(world, set(), random.Random(1))
    drawn = [aim._aimed({"job": {"cluster": "x", "name": "y"}})["job"] for _ in range(50)]
    assert {"demo", "x"} == {job["cluster"] for job in drawn}
    assert {"y"} == {job["name"] for job in drawn}
