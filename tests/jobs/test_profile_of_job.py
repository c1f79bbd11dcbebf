"""A job names a profile, brings its own table, or has only an estimate; and it says which."""

from typing import Any

import pytest

from jobs.models import Job, Profile, ProfilePoint, ProfilingRun
from tests.api import Api
from tests.jobs.conftest import JOBS, SUBMIT, Submit, World

POINT: dict[str, Any] = {"gpu_type": "A100", "gpus": 1, "steps_per_s": 7.5}
OTHER: dict[str, Any] = {**POINT, "gpus": 2, "steps_per_s": 14.0}


def basis_of(api: Api, job: Job) -> tuple[str, str]:
    shown = api.get(f"{JOBS}{job.pk}/").json()
    explained = api.get(f"{JOBS}{job.pk}/explain/").json()
    assert shown["profile_basis"] == explained["profile_basis"]
    return shown["profile_basis"], explained["profile_text"]


def test_an_estimate_alone_is_neutral_and_says_so(member: Api, submit: Submit) -> None:
    basis, text = basis_of(member, submit(estimated_run_s=600))
    assert basis == "neutral"
    assert "a neutral profile is used" in text


def test_a_profile_says_what_is_known(member: Api, submit: Submit) -> None:
    member.post("/api/v1/profiles/", {"name": "p"})
    job = submit(profile="p")
    assert basis_of(member, job)[0] == "neutral"
    url = f"/api/v1/profiles/{job.profile_id}/"
    member.post(f"{url}points/", {"points": [POINT, OTHER]})
    assert basis_of(member, job)[0] == "measured"
    member.post(f"{url}fit/")
    assert basis_of(member, job)[0] == "fitted"


def test_the_same_table_is_the_same_profile(member: Api, submit: Submit, stranger: Api) -> None:
    first = submit(points=[POINT, OTHER])
    again = submit(points=[OTHER, POINT])
    other = submit(points=[POINT])
    assert first.profile_id == again.profile_id != other.profile_id
    assert basis_of(member, first)[0] == "measured"
    profile = first.profile
    assert profile is not None
    assert profile.inline
    assert profile.name.startswith("inline/")
    assert ProfilePoint.objects.filter(profile=profile).count() == 2
    answer = stranger.post(JOBS, {**SUBMIT, "points": [POINT, OTHER]}).json()
    assert Job.objects.get(pk=answer["id"]).profile_id != first.profile_id


@pytest.mark.parametrize(
    ("fields", "status", "pointer", "code"),
    [
        ({"points": [POINT], "profile": "p"}, 422, "/points", "profile_twice"),
        ({"points": [POINT, POINT]}, 422, "/points/1", "duplicate_point"),
        ({"points": [{**POINT, "gpu_type": "B9"}]}, 409, "/points/0/gpu_type", "unknown_gpu_type"),
        ({"points": [POINT, {**OTHER, "steps_per_s": 1e5}]}, 422, "/points/0/steps_per_s",
         "unit_mismatch"),
        ({"profile_first": True}, 422, "/profile_first", "profile_missing"),
        ({"profile_first": True, "profile": "p"}, 409, "/profile", "unknown_profile"),
    ],
)  # fmt: skip
def test_refused(
    world: World, fields: dict[str, Any], status: int, pointer: str, code: str
) -> None:
    refused = world.api().post(JOBS, {**SUBMIT, **fields})
    assert (refused.status_code, refused.json()["code"]) == (status, code), refused.content
    assert refused.json()["errors"][0]["pointer"] == pointer
    assert not Job.objects.exists()
    assert not Profile.objects.exists()


@pytest.mark.parametrize("fields", [{"points": [POINT]}, {"profile": "p", "profile_first": True}])
def test_many_jobs_name_a_profile_instead(member: Api, fields: dict[str, Any]) -> None:
    member.post("/api/v1/profiles/", {"name": "p"})
    job = {**SUBMIT, **fields}
    bulk = member.post(f"{JOBS}bulk/", {"jobs": [job, SUBMIT]}).json()
    assert [item["status"] for item in bulk["items"]] == [422, 201]
    array = member.post("/api/v1/arrays/", {"name": "a", "size": 2, "job": job})
    assert (array.status_code, array.json()["code"]) == (422, bulk["items"][0]["problem"]["code"])


def test_a_run_is_asked_for_over_http(member: Api, world: World) -> None:
    made = member.post("/api/v1/profiles/", {"name": "p"}).json()
    runs = f"/api/v1/profiles/{made['id']}/runs/"
    body = {"cluster": "demo", "argv": ["train"], "cpus": 8}
    run = member.post(runs, body)
    assert (run.status_code, run.json()["state"]) == (201, "waiting"), run.content
    assert member.get(runs).json()["items"] == [run.json()]
    assert member.post(runs, body).json()["id"] == run.json()["id"]
    job = member.get(f"{JOBS}{run.json()['job_id']}/").json()
    assert (job["name"], job["held"], job["min_gpus"]) == ("profiling p", True, 1)
    unknown = member.post(runs.replace("runs", "points"), {"points": []})
    assert unknown.status_code == 400
    waiting = member.post(f"{JOBS}{job['id']}/release/")
    assert (waiting.status_code, waiting.json()["code"]) == (409, "profiling_waits")
    assert ProfilingRun.objects.count() == 1


def test_a_run_needs_a_cluster_that_exists(member: Api) -> None:
    made = member.post("/api/v1/profiles/", {"name": "p"}).json()
    answer = member.post(
        f"/api/v1/profiles/{made['id']}/runs/", {"cluster": "nowhere", "argv": ["train"]}
    )
    assert (answer.status_code, answer.json()["code"]) == (409, "unknown_cluster")
    assert not Job.objects.exists()
