"""Code, volumes, secrets, artifacts, limits and processes of a job: stored, shown, refused."""

from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from clusters.models import Node, Volume, VolumeGrant
from jobs.models import Job
from jobs.sealed_env import opened_env
from jobs.services import warnings
from jobs.specs import JobSpec
from scheduler_service.factories import make_cluster
from storage.models import Blob
from tenancy.callers import SYSTEM
from tenancy.secrets import secret_create
from tests.api import Api
from tests.jobs.conftest import JOBS, SUBMIT, Submit, World

DIGEST, COMMIT = "ab" * 32, "cd" * 20
GIT = {"git": "https://git.example/team/repo.git", "commit": COMMIT}


@pytest.fixture
def stocked(world: World, settings: Settings, tmp_path: Path) -> World:
    """An archive, a secret and three volumes: everybody's, ours to write, and theirs."""
    settings.STORAGE_URL = str(tmp_path)
    now = timezone.now()
    for tenant in (world.ours, world.theirs):
        Blob.objects.create(
            tenant=tenant, digest=DIGEST, size=9, format="tar.gz", created_at=now, used_at=now
        )
    secret_create(SYSTEM, tenant_id=world.ours.pk, name="wandb-key", value="s3cret", now=now)
    secret_create(SYSTEM, tenant_id=world.theirs.pk, name="theirs", value="s3cret", now=now)
    made = {"cluster": world.cluster, "path": "/srv/data"}
    Volume.objects.create(name="datasets", everyone=True, **made)
    scratch = Volume.objects.create(name="scratch", read_only=False, **made)
    VolumeGrant.objects.create(volume=scratch, tenant=world.ours)
    foreign = Volume.objects.create(name="foreign", **made)
    VolumeGrant.objects.create(volume=foreign, tenant=world.theirs)
    return world


FULL: dict[str, Any] = {
    "processes": "per_gpu",
    "gpus": 4,
    "workdir": {"archive": DIGEST},
    "mounts": [
        {"volume": "datasets", "target": "/data"},
        {"volume": "scratch", "target": "/scratch/mine", "read_only": False},
    ],
    "artifacts": [{"name": "model", "path": "out/model.pt"}],
    "secrets": [{"name": "wandb-key", "variable": "WANDB_API_KEY"}],
    "time_limit_s": 3600,
    "max_retries": 3,
    "retry_backoff_s": 5,
    "env": {"LR": "0.1", "TOKEN": "canary-value"},
}


def test_everything_is_stored_and_shown(stocked: World, submit: Submit, member: Api) -> None:
    job = submit(**FULL)
    assert (job.processes, job.span, job.memory_mib_per_gpu) == ("per_gpu", "any", None)
    assert (job.time_limit_s, job.max_retries, job.retry_on) == (3600, 3, ["exit", "signal"])
    assert opened_env(job.sealed_env, "ours") == FULL["env"]
    shown = member.get(f"{JOBS}{job.pk}/").json()
    assert (shown["archive"], shown["env_keys"]) == (DIGEST, ["LR", "TOKEN"])
    assert [mount["read_only"] for mount in shown["mounts"]] == [True, False]
    assert shown["artifacts"] == FULL["artifacts"]
    assert shown["secrets"] == [{"name": "wandb-key", "variable": "WANDB_API_KEY", "file": None}]


def test_no_value_of_env_is_at_rest_in_the_clear(stocked: World, submit: Submit) -> None:
    submit(**FULL)
    with connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(j::text, '') FROM jobs_job j")
        assert "canary-value" not in cursor.fetchone()[0]


def test_git_is_pinned(submit: Submit) -> None:
    job = submit(workdir=GIT)
    assert (job.git_url, job.git_commit, job.workdir_id) == (GIT["git"], COMMIT, None)


def test_one_process_has_its_gpus_in_one_node(submit: Submit) -> None:
    assert submit(gpus=4).span == "node"
    assert submit(gpus=1, span="any").span == "any"
    assert submit(gpus=4, processes="per_node").span == "any"


REFUSED: list[tuple[dict[str, Any], int, str, str]] = [
    ({"processes": "many"}, 400, "invalid", "/processes"),
    ({"gpus": 2, "span": "any"}, 422, "one_process_on_one_node", "/span"),
    ({"workdir": {}}, 422, "workdir_twice", "/workdir"),
    ({"workdir": {"archive": DIGEST, **GIT}}, 422, "workdir_twice", "/workdir"),
    ({"workdir": {"git": GIT["git"]}}, 422, "git_incomplete", "/workdir/commit"),
    ({"workdir": {"archive": "../x"}}, 400, "invalid", "/workdir/archive"),
    ({"workdir": {"archive": "0" * 64}}, 409, "unknown_archive", "/workdir/archive"),
    ({"workdir": {**GIT, "commit": "main"}}, 400, "invalid", "/workdir/commit"),
    ({"workdir": {**GIT, "git": "file:///etc"}}, 400, "invalid", "/workdir/git"),
    ({"workdir": {**GIT, "git": "https://me:pw@git.example/r"}}, 400, "invalid", "/workdir/git"),
    ({"workdir": {**GIT, "git": "ext::sh -c id"}}, 400, "invalid", "/workdir/git"),
    ({"image": "--privileged"}, 400, "invalid", "/image"),
    ({"image": "a b"}, 400, "invalid", "/image"),
    (
        {"mounts": [{"volume": "datasets", "target": f"/m{n}"} for n in range(10_000)]},
        400,
        "invalid",
        "/mounts",
    ),
    ({"mounts": [{"volume": "nope", "target": "/d"}]}, 409, "unknown_volume", "/mounts/0/volume"),
    (
        {"mounts": [{"volume": "foreign", "target": "/d"}]},
        409,
        "unknown_volume",
        "/mounts/0/volume",
    ),
    (
        {"mounts": [{"volume": "datasets", "target": "/d", "read_only": False}]},
        409,
        "volume_read_only",
        "/mounts/0/read_only",
    ),
    ({"mounts": [{"volume": "datasets", "target": "/"}]}, 400, "invalid", "/mounts/0/target"),
    ({"mounts": [{"volume": "datasets", "target": "/a/../b"}]}, 400, "invalid", "/mounts/0/target"),
    ({"mounts": [{"volume": "datasets", "target": "a"}]}, 400, "invalid", "/mounts/0/target"),
    (
        {"mounts": [{"volume": "datasets", "target": "/etc/x"}]},
        422,
        "reserved_target",
        "/mounts/0/target",
    ),
    (
        {"mounts": [{"volume": "datasets", "target": each} for each in ("/d", "/d/e")]},
        422,
        "target_taken",
        "/mounts/1/target",
    ),
    ({"artifacts": [{"name": "m", "path": "/etc"}]}, 400, "invalid", "/artifacts/0/path"),
    ({"artifacts": [{"name": "m", "path": "../x"}]}, 400, "invalid", "/artifacts/0/path"),
    ({"artifacts": [{"name": "a/b", "path": "x"}]}, 400, "invalid", "/artifacts/0/name"),
    (
        {"artifacts": [{"name": "m", "path": each} for each in ("a", "b")]},
        422,
        "duplicate_artifact",
        "/artifacts/1/name",
    ),
    (
        {"secrets": [{"name": "nope", "variable": "A"}]},
        409,
        "unknown_secret",
        "/secrets/0/name",
    ),
    (
        {"secrets": [{"name": "theirs", "variable": "A"}]},
        409,
        "unknown_secret",
        "/secrets/0/name",
    ),
    ({"secrets": [{"name": "wandb-key"}]}, 422, "secret_place", "/secrets/0"),
    (
        {"secrets": [{"name": "wandb-key", "variable": "A", "file": "a"}]},
        422,
        "secret_place",
        "/secrets/0",
    ),
    (
        {"secrets": [{"name": "wandb-key", "file": "../a"}]},
        400,
        "invalid",
        "/secrets/0/file",
    ),
    (
        {"secrets": [{"name": "wandb-key", "variable": "A"}], "env": {"A": "1"}},
        422,
        "variable_twice",
        "/secrets/0/variable",
    ),
    ({"time_limit_s": 0}, 400, "invalid", "/time_limit_s"),
    ({"max_retries": 101}, 400, "invalid", "/max_retries"),
    ({"max_retries": -1}, 400, "invalid", "/max_retries"),
    ({"retry_on": ["node_lost"]}, 400, "invalid", "/retry_on/0"),
]


@pytest.mark.parametrize(("fields", "status", "code", "pointer"), REFUSED)
@pytest.mark.usefixtures("stocked")
def test_bad_input(
    member: Api, fields: dict[str, Any], status: int, code: str, pointer: str
) -> None:
    answer = member.post(JOBS, {**SUBMIT, **fields})
    body = answer.json()
    assert (answer.status_code, body["errors"][0]["pointer"]) == (status, pointer), body
    assert body["code"] == code or (code == "invalid" and status == 400)
    assert not Job.objects.exists()


def test_in_bulk_the_bad_ones_are_told_apart(stocked: World, member: Api) -> None:
    jobs = [
        {**SUBMIT, "workdir": {"archive": DIGEST}},
        {**SUBMIT, "workdir": {"archive": "0" * 64}},
        {**SUBMIT, "secrets": [{"name": "nope", "file": "f"}]},
    ]
    items = member.post(f"{JOBS}bulk/", {"jobs": jobs}).json()["items"]
    assert [item["status"] for item in items] == [201, 409, 409]
    pointers = [item["problem"]["errors"][0]["pointer"] for item in items[1:]]
    assert pointers == ["/jobs/1/workdir/archive", "/jobs/2/secrets/0/name"]
    assert Job.objects.get().workdir is not None


def test_another_tenants_archive_is_not_found_by_its_digest(
    stocked: World, member: Api, submit: Submit
) -> None:
    job = submit(workdir={"archive": DIGEST})
    assert job.workdir is not None
    assert job.workdir.tenant_id == stocked.ours.pk


WARNED: list[tuple[dict[str, Any], list[tuple[str, str]]]] = [
    ({}, []),
    (
        {"gpu_types": ["B300"]},
        [("/gpu_types/0", "unknown_gpu_type"), ("/gpu_types", "no_such_gpus")],
    ),
    ({"gpus": 8}, [("/gpus", "larger_than_node")]),
    ({"gpus": 8, "processes": "per_gpu"}, []),
    ({"gpus": 9, "processes": "per_gpu"}, [("/gpus", "larger_than_cluster")]),
    ({"memory_mib_per_gpu": 600_000}, [("/memory_mib_per_gpu", "larger_than_node")]),
    ({"memory_mib_per_gpu": 512}, [("/memory_mib_per_gpu", "little_memory")]),
    ({"partition": "prod"}, [("/partition", "no_nodes")]),
    (
        {"estimated_run_s": 100, "time_limit_s": 50},
        [("/time_limit_s", "limit_below_estimate")],
    ),
]


@pytest.mark.parametrize(("fields", "expected"), WARNED)
def test_what_will_not_start_is_warned_of(
    member: Api, fields: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    answer = member.post(JOBS, {**SUBMIT, **fields})
    assert answer.status_code == 201
    assert _warned(answer.json()) == expected


@pytest.mark.parametrize(("fields", "expected"), WARNED)
def test_bulks_and_arrays_are_warned_alike(
    member: Api, fields: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    jobs = [SUBMIT, {**SUBMIT, "gpus": 0}, {**SUBMIT, **fields}]
    fine, refused, warned = member.post(f"{JOBS}bulk/", {"jobs": jobs}).json()["items"]
    assert (fine["warnings"], refused["warnings"]) == ([], [])
    assert _warned(warned) == [(f"/jobs/2{at}", code) for at, code in expected]
    array = {"name": "sweep", "size": 3, "job": {**SUBMIT, **fields}}
    made = member.post("/api/v1/arrays/", array).json()
    assert _warned(made) == [(f"/job{at}", code) for at, code in expected]


def test_many_jobs_of_many_kinds_are_warned_of_by_two_queries(world: World) -> None:
    others = [make_cluster(f"other-{number}") for number in range(3)]
    submitted = [
        warnings.Submitted(
            JobSpec(name="a", cluster=cluster.name, argv=["a"], gpu_types=[f"T{number}"]),
            cluster.pk,
            None,
        )
        for cluster in (world.cluster, *others)
        for number in range(50)
    ]
    warnings._places.cache_clear()
    with CaptureQueriesContext(connection) as taken:
        found = warnings.warnings_for(submitted, now=timezone.now())
    assert len(taken) == 2
    assert [each[0].code for each in found] == ["unknown_gpu_type"] * 200


def _warned(shown: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["pointer"], each["code"]) for each in shown["warnings"]]


def test_an_image_that_no_node_runs_is_warned_of(world: World, member: Api) -> None:
    Node.objects.update(container_tool="")
    warnings._places.cache_clear()
    answer = member.post(JOBS, {**SUBMIT, "image": "train:1"}).json()
    assert [each["code"] for each in answer["warnings"]] == ["no_containers"]


def test_a_commit_that_no_node_can_fetch_is_warned_of(world: World, member: Api) -> None:
    Node.objects.update(git=False)
    warnings._places.cache_clear()
    answer = member.post(JOBS, {**SUBMIT, "workdir": GIT}).json()
    assert _warned(answer) == [("/workdir/git", "no_git")]
