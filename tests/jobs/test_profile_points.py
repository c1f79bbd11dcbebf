"""Points, versions and predictions over HTTP, and what is refused instead of believed."""

from typing import Any

import pytest

from clusters.models import GpuType
from jobs.models import Profile, ProfileFit, ProfilePoint
from tenancy.models import AuditRow
from tests.api import Api
from tests.jobs.conftest import World

PROFILES = "/api/v1/profiles/"
CLOCKS = [705, 1065, 1410]


def speed(gpus: int, clock_mhz: int = 1410) -> float:
    return 1 / ((0.02 + 0.08 * 1410 / clock_mhz) / gpus + 0.01 * (gpus > 1))


def point(gpus: int, clock_mhz: int = 1410, **fields: Any) -> dict[str, Any]:
    x = clock_mhz / 1410
    watts = 60 + 340 * (0.3 * x + 0.7 * x**3)
    told = {"steps_per_s": speed(gpus, clock_mhz), "watts_per_gpu": watts}
    return {"gpu_type": "A100", "gpus": gpus, "clock_mhz": clock_mhz, **told, **fields}


TABLE = [point(1, clock) for clock in CLOCKS] + [point(2), point(4)]


@pytest.fixture
def profile(world: World, member: Api) -> str:
    GpuType.objects.update(clocks_mhz=CLOCKS)
    made = member.post(PROFILES, {"name": "resnet"}).json()
    return f"{PROFILES}{made['id']}/"


def test_points_are_added_fitted_and_predict(member: Api, profile: str) -> None:
    neutral = member.get(f"{profile}predict/?gpu_type=A100&gpus=2").json()
    assert (neutral["source"], neutral["steps_per_s"], neutral["fit"]) == ("neutral", None, None)

    added = member.post(f"{profile}points/", {"points": TABLE})
    assert (added.status_code, added.json()["basis"]) == (200, "measured"), added.content
    assert len(added.json()["points"]) == 5
    assert added["ETag"] == member.get(profile)["ETag"]

    fit = member.post(f"{profile}fit/")
    assert (fit.status_code, fit.json()["number"], fit.json()["cause"]) == (201, 1, "asked")
    assert fit.json()["worst_error"] < 0.05
    ranges = fit.json()["models"]["types"]["A100"]["throughput"]["ranges"]
    assert ranges["clock_mhz"] == [705, 1410]
    shown = member.get(profile).json()
    assert (shown["basis"], shown["fit"]) == ("fitted", fit.json())
    assert member.get(f"{profile}fits/").json()["items"] == [fit.json()]

    told = member.get(f"{profile}predict/?gpu_type=A100&gpus=4&clock=705").json()
    assert told["source"] == "fitted"
    assert told["steps_per_s"] == pytest.approx(speed(4, 705), rel=0.1)
    assert told["low"] < told["steps_per_s"] < told["high"]
    assert (told["extrapolated"], told["leaves"]) == (False, [])
    there = member.get(f"{profile}predict/?gpu_type=A100&gpus=2").json()
    assert (there["source"], there["steps_per_s"]) == ("measured", pytest.approx(speed(2)))
    beyond = member.get(f"{profile}predict/?gpu_type=A100&gpus=64").json()
    assert beyond["extrapolated"] is True
    assert "gpus" in beyond["leaves"]
    assert beyond["high"] / beyond["low"] > told["high"] / told["low"]
    actions = AuditRow.objects.filter(action__startswith="profile.").order_by("pk")
    assert [row.action for row in actions] == [
        "profile.create",
        "profile.add_points",
        "profile.fit",
    ]


def test_a_configuration_that_was_given_before_is_replaced(member: Api, profile: str) -> None:
    member.post(f"{profile}points/", {"points": [point(1), point(2)]})
    again = member.post(f"{profile}points/", {"points": [point(2, steps_per_s=30.0)]})
    assert again.status_code == 200, again.content
    listed = member.get(f"{profile}points/").json()["items"]
    assert sorted((one["gpus"], one["steps_per_s"]) for one in listed) == [(1, 10.0), (2, 30.0)]
    assert {one["source"] for one in listed} == {"given"}
    assert member.get(f"{profile}points/?source=learned").json()["items"] == []
    assert again.json()["version"] == 3


@pytest.mark.parametrize(
    ("bad", "status", "code"),
    [
        ({"steps_per_s": 0}, 400, "invalid"),
        ({"watts_per_gpu": 0}, 400, "invalid"),
        ({"cpus_per_gpu": 0}, 400, "invalid"),
        ({"steps_per_s": 10_000}, 422, "unit_mismatch"),
        ({"steps_per_s": 0.0075}, 422, "unit_mismatch"),
        ({"watts_per_gpu": 900}, 422, "above_max"),
        ({"gpu_type": "B9000"}, 409, "unknown_gpu_type"),
    ],
)
def test_points_that_cannot_be(
    member: Api, profile: str, bad: dict[str, Any], status: int, code: str
) -> None:
    member.post(f"{profile}points/", {"points": TABLE})
    refused = member.post(f"{profile}points/", {"points": [point(8, 705, **bad)]})
    assert refused.status_code == status, refused.content
    assert refused["Content-Type"] == "application/problem+json"
    (fault,) = refused.json()["errors"]
    assert (fault["pointer"], ProfilePoint.objects.count()) == (f"/points/0/{min(bad)}", 5)
    if status == 422:
        assert fault["code"] == code
        assert "The point of 8 A100 at 705 MHz" in fault["detail"]


def test_nan_is_no_number(member: Api, profile: str) -> None:
    body = b'{"points": [{"gpu_type": "A100", "gpus": 1, "steps_per_s": NaN}]}'
    refused = member.send("POST", f"{profile}points/", body)
    assert refused.status_code == 400, refused.content
    assert not ProfilePoint.objects.exists()


def test_nothing_measured_is_not_fitted(member: Api, profile: str) -> None:
    refused = member.post(f"{profile}fit/")
    assert (refused.status_code, refused.json()["code"]) == (422, "no_points")
    assert not ProfileFit.objects.exists()


@pytest.mark.parametrize(
    ("points", "note"),
    [
        ([point(1)], "one_configuration"),
        ([point(n, steps_per_s=10.0) for n in (1, 2, 4)], "all_equal"),
    ],
)
def test_too_little_gives_a_wide_interval(
    member: Api, profile: str, points: list[dict[str, Any]], note: str
) -> None:
    member.post(f"{profile}points/", {"points": points})
    fit = member.post(f"{profile}fit/").json()
    told = fit["models"]["types"]["A100"]["throughput"]
    assert told["wide"] is True
    assert note in {one["code"] for one in told["notes"]}
    wide = member.get(f"{profile}predict/?gpu_type=A100&gpus=8").json()
    assert wide["high"] / wide["low"] > 3
    assert wide["extrapolated"] is True


@pytest.mark.parametrize(
    ("query", "at"),
    [
        ("", "?gpu_type"),
        ("gpu_type=B9000", "?gpu_type"),
        ("gpu_type=A100&gpus=0", "?gpus"),
        ("gpu_type=A100&clock=1000", "?clock"),
        ("gpu_type=A100&cpus=-1", "?cpus"),
        ("gpu_type=A100&speed=1", "?speed"),
    ],
)
def test_a_prediction_of_what_does_not_exist(
    member: Api, profile: str, query: str, at: str
) -> None:
    refused = member.get(f"{profile}predict/?{query}")
    assert refused.status_code == 400, refused.content
    assert refused.json()["errors"][0]["pointer"] == at


def test_sent_twice_counts_once(member: Api, profile: str) -> None:
    member.post(f"{profile}points/", {"points": TABLE})
    first, second = (
        member.post(f"{profile}fit/", headers={"Idempotency-Key": "once"}) for _ in range(2)
    )
    assert first.json() == second.json()
    assert ProfileFit.objects.count() == 1


def test_another_tenants_profile_has_no_points(stranger: Api, profile: str) -> None:
    for path in ("points/", "fits/", "runs/", "predict/?gpu_type=A100"):
        assert stranger.get(f"{profile}{path}").status_code == 404
    for path, body in (("points/", {"points": TABLE}), ("fit/", None)):
        assert stranger.post(f"{profile}{path}", body).status_code == 404
    asked = {"cluster": "demo", "argv": ["true"]}
    assert stranger.post(f"{profile}runs/", asked).status_code == 404
    assert not ProfilePoint.objects.exists()


def test_cpus_and_memory_change_what_is_predicted(member: Api, profile: str) -> None:
    """Four CPUs are enough; one is not, and half of the data have to come from storage."""
    data = {"dataset_mib": 10_000, "step_mib": 100, "storage_mib_per_s": 200}
    member.patch(profile, data, headers={"If-Match": "*"})
    sweep = [(1, 2.5), (2, 5.0), (4, 10.0), (8, 10.0)]
    points = [point(1, cpus_per_gpu=cpus, steps_per_s=per_s) for cpus, per_s in sweep]
    member.post(f"{profile}points/", {"points": points})
    assert member.post(f"{profile}fit/").status_code == 201

    def told(query: str) -> Any:
        asked = member.get(f"{profile}predict/?gpu_type=A100&gpus=1&{query}")
        return asked.json()["steps_per_s"]

    assert told("cpus=8") == pytest.approx(10, rel=0.02)
    assert told("cpus=3") == pytest.approx(7.5, rel=0.02)
    assert told("cpus=8&memory=5000") == pytest.approx(4, rel=0.02)
    assert Profile.objects.get().basis == "fitted"
