"""What fits the schema but makes no sense is refused too, with its place, and nothing is stored."""

from typing import Any

import pytest

from tests.live.access import OPERATOR
from tests.live.conftest import Live
from tests.live.refusals import refusal

pytestmark = pytest.mark.usefixtures("nothing_is_stored")

CLUSTERS, TARIFFS = "/api/v1/clusters/", "/api/v1/tariffs/"


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        ({"policy": "nonsense"}, 400, "/policy"),
        ({"policy": "fifo", "policy_parameters": {"nonsense": 1}}, 400, "/policy_parameters"),
        ({"policy": "fifo", "policy_parameters": {"ageing_s": 1}}, 422, "/policy_parameters"),
        ({"policy": "priority", "policy_parameters": {"ageing_s": "x"}}, 400, "/policy_parameters"),
        ({"policy": "priority", "policy_parameters": {"ageing_s": -1}}, 400, "/policy_parameters"),
        ({"tariff": "nowhere"}, 409, "/tariff"),
        ({"carbon_series": "nowhere"}, 409, "/carbon_series"),
        ({"pue": "0.5"}, 400, "/pue"),
        ({"pue": 1.5}, 400, "/pue"),
        ({"currency": "euro"}, 400, "/currency"),
    ],
)
def test_clusters(live: Live, body: dict[str, Any], status: int, pointer: str) -> None:
    answer = live.send(OPERATOR, "POST", CLUSTERS, json={"name": "new", **body})
    places = [error["pointer"] for error in refusal(answer, status, 400, 422)["errors"]]
    assert all(place.startswith(pointer) for place in places), answer.text


def period(start: int, end: int, **more: Any) -> dict[str, Any]:
    every = {"months": list(range(1, 13)), "weekdays": list(range(7)), "price_per_kwh": "0.1"}
    return {**every, "from_minute": start, "to_minute": end, **more}


@pytest.mark.parametrize(
    "periods",
    [
        [],
        [period(0, 720)],
        [period(0, 720), period(721, 1440)],
        [period(0, 721), period(720, 1440)],
        [period(0, 1440), period(0, 1440)],
        [period(0, 1440, weekdays=[0, 1, 2, 3, 4])],
        [period(0, 1440, months=[1])],
        [period(720, 720), period(0, 1440)],
        [period(720, 0)],
    ],
)
def test_periods_that_overlap_or_leave_a_hole(live: Live, periods: list[dict[str, Any]]) -> None:
    body = {"name": "new", "kind": "time_of_use", "periods": periods}
    answer = live.send(OPERATOR, "POST", TARIFFS, json=body)
    places = [error["pointer"] for error in refusal(answer, 400, 422)["errors"]]
    assert all(place.startswith("/periods") for place in places), answer.text


@pytest.mark.parametrize("zone", ["Nowhere/Else", "../../etc/passwd", "", "UTC\u0130"])
def test_time_zones_that_are_none(live: Live, zone: str) -> None:
    body = {"name": "new", "kind": "flat", "price_per_kwh": "0.1", "timezone": zone}
    answer = live.send(OPERATOR, "POST", TARIFFS, json=body)
    assert refusal(answer, 400, 422)["errors"][0]["pointer"] == "/timezone"


HOURS = "starts_at,price_per_kwh"


@pytest.mark.parametrize(
    ("lines", "zone"),
    [
        ([], None),
        (["2026-01-31T08:00Z,0.1", "2026-01-31T10:00Z,0.1"], None),
        (["2026-01-31T08:00Z,0.1", "2026-01-31T08:00Z,0.1"], None),
        (["2026-01-31T09:00Z,0.1", "2026-01-31T08:00Z,0.1"], None),
        (["2026-01-31T08:30Z,0.1"], None),
        (["2026-01-31T08:00Z,"], None),
        (["2026-01-31T08:00Z,cheap"], None),
        (["2026-01-31T08:00Z,NaN"], None),
        (["2026-01-31T08:00Z,1e999"], None),
        (["2026-01-31T08:00Z"], None),
        (["yesterday,0.1"], None),
        # Spring: local 02:00 does not exist in Berlin; autumn: local 02:00 comes twice.
        (["2026-03-29T01:00,0.1", "2026-03-29T02:00,0.1"], "Europe/Berlin"),
        (["2026-10-25T01:00,0.1", "2026-10-25T02:00,0.1", "2026-10-25T04:00,0.1"], "Europe/Berlin"),
        (["2026-10-25T01:00,0.1", "2026-10-25T03:00,0.1"], "Europe/Berlin"),
        (["2026-01-31T08:00,0.1"], "Nowhere/Else"),
    ],
)
def test_hours_that_make_no_series(live: Live, lines: list[str], zone: str | None) -> None:
    body = {"csv": "\n".join([HOURS, *lines]) + "\n", "mode": "replace", "timezone": zone}
    address = f"{TARIFFS}{live.world.shared['tariffs']}/hours/"
    answer = live.send(OPERATOR, "POST", address, json={k: v for k, v in body.items() if v})
    places = [error["pointer"] for error in refusal(answer, 400, 422)["errors"]]
    assert all(place.startswith(("/csv", "/timezone")) for place in places), answer.text


def test_hours_that_leave_a_hole_in_what_is_stored(live: Live) -> None:
    body = {"csv": f"{HOURS}\n2026-02-28T08:00Z,0.1\n", "mode": "extend"}
    address = f"{TARIFFS}{live.world.shared['tariffs']}/hours/"
    problem = refusal(live.send(OPERATOR, "POST", address, json=body), 409)
    assert (problem["code"], problem["errors"][0]["pointer"]) == ("leaves_hole", "/csv")


# Jobs.

JOB = {"name": "x", "cluster": "demo", "argv": ["true"]}


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"cluster": "nowhere"}, "/cluster"),
        ({"partition": "nowhere"}, "/partition"),
        ({"profile": "nowhere"}, "/profile"),
        ({"tenant": "nowhere"}, "/tenant"),
        ({"depends_on": [{"job": 10**17}]}, "/depends_on/0"),
        ({"argv": []}, "/argv"),
        ({"argv": [""]}, "/argv/0"),
        ({"gpus": 0}, "/gpus"),
        ({"gpus": 1, "min_gpus": 1, "max_gpus": 2}, "/gpus"),
        ({"min_gpus": 2, "max_gpus": 1}, "/min_gpus"),
        ({"priority": 101}, "/priority"),
        ({"deadline_at": "2026-01-31T08:00:00"}, "/deadline_at"),
        ({"deadline_at": "0001-01-01T00:00:00+14:00"}, "/deadline_at"),
        ({"work_total": 1e300}, "/work_total"),
        ({"tardiness_price_per_h": 1}, "/tardiness_price_per_h"),
        ({"env": {"A=B": "x"}}, "/env"),
        ({"env": {"": "x"}}, "/env"),
    ],
)
def test_jobs(live: Live, change: dict[str, Any], pointer: str) -> None:
    answer = live.send("member", "POST", "/api/v1/jobs/", json={**JOB, **change})
    places = [error["pointer"] for error in refusal(answer, 400, 409, 422)["errors"]]
    assert all(place.startswith(pointer) for place in places), answer.text


@pytest.mark.parametrize("count", [0, 10_001])
def test_too_few_and_too_many_jobs_at_once(live: Live, count: int) -> None:
    answer = live.send("member", "POST", "/api/v1/jobs/bulk/", json={"jobs": [JOB] * count})
    assert refusal(answer)["errors"][0]["pointer"] == "/jobs"


def test_an_array_that_is_too_large(live: Live) -> None:
    body = {"name": "x", "size": 10_001, "job": JOB}
    answer = live.send("member", "POST", "/api/v1/arrays/", json=body)
    assert refusal(answer)["errors"][0]["pointer"] == "/size"
