"""What an attempt brings to its node and leaves behind, and what its end means."""

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from pytest_django import Settings

from agent.wire import MAX_PART_BYTES, DesiredAttempt, End, Processes, SecretValue
from clusters.models import Cluster, Volume
from jobs.artifacts import artifacts_forget, blobs_collect
from jobs.models import Artifact, Attempt, Job, Log, LogChunk
from scheduler_service.factories import NOW, make_cluster, make_jobs, make_tenant
from scheduling.explain import explain
from scheduling.round import run_round
from storage.models import Blob, Upload
from storage.uploads import Wanted, part_take, upload_begin
from tenancy import throttles
from tenancy.callers import SYSTEM
from tenancy.models import Secret, Tenant
from tenancy.roles import Role
from tenancy.secrets import secret_create
from tenancy.tokens import token_create
from tests.api import Api
from tests.engines.agents.nodes import Agent, join
from tests.storage.packing import digest, file, tar_gz

pytestmark = pytest.mark.django_db

ARCHIVE = tar_gz(file("train.py"))


@pytest.fixture(autouse=True)
def _store(settings: Settings, tmp_path: Path) -> None:
    settings.STORAGE_URL, settings.CACHE_URL = str(tmp_path / "storage"), "local:"
    throttles.budgets.cache_clear()


@dataclass
class Scene:
    cluster: Cluster
    tenant: Tenant
    agent: Agent
    job: Job

    def api(self) -> Api:
        return Api(self.agent.secret)

    def round(self, now: Any = NOW) -> None:
        run_round(self.cluster.pk, now=now)


def scene(gpus: int = 4, **fields: Any) -> Scene:
    cluster, tenant = make_cluster(), make_tenant()
    Volume.objects.create(cluster=cluster, name="datasets", path="/srv/data", everyone=True)
    secret_create(SYSTEM, tenant_id=tenant.pk, name="key", value="s3cret", now=NOW)
    agent = join(cluster, "n1", gpus=gpus)
    (job,) = make_jobs(cluster, tenant, 1, **fields)
    made = Scene(cluster, tenant, agent, job)
    made.round()
    return made


def stored(tenant: Tenant, data: bytes, kind: str = "tar.gz") -> Blob:
    begun = upload_begin(Wanted(tenant.pk, digest(data), len(data), kind), now=NOW)
    assert isinstance(begun, Upload)
    done = part_take(begun, 0, data, now=NOW)
    assert isinstance(done, Blob)
    return done


BROUGHT: dict[str, Any] = {
    "mounts": [{"volume": "datasets", "target": "/data", "read_only": False}],
    "artifacts": [{"name": "model", "path": "out/model"}],
    "secrets": [{"name": "key", "variable": "KEY", "file": None}],
    "env": {"LR": "0.1"},
    "time_limit_s": 60,
}


def test_an_attempt_is_handed_out_with_what_it_brings() -> None:
    (wanted,) = scene(**BROUGHT).agent.sync().attempts
    (mount,) = wanted.mounts
    assert (mount.path, mount.target, mount.read_only) == ("/srv/data", "/data", True)
    assert (wanted.env, wanted.time_limit_s) == ({"LR": "0.1"}, 60)
    assert wanted.secrets == (SecretValue("key", "s3cret", variable="KEY"),)
    assert wanted.artifacts[0].path == "out/model"
    assert wanted.tenant_id == Tenant.objects.get().pk


def test_values_are_told_until_the_attempt_runs_and_never_again() -> None:
    agent = scene(**BROUGHT).agent
    (wanted,) = agent.sync().attempts
    (again,) = agent.sync().attempts
    assert again == wanted
    agent.running(wanted)
    agent.sync()
    (running,) = agent.sync().attempts
    assert (running.env, running.secrets) == ({}, ())
    assert running.mounts == wanted.mounts


@pytest.mark.parametrize(
    ("processes", "gpus", "per_node", "ranks"),
    [
        ("one", 2, [4], [(0, 1, 1)]),
        ("per_node", 2, [4], [(0, 1, 1)]),
        ("per_gpu", 2, [4], [(0, 2, 2)]),
        ("per_gpu", 8, [8], [(0, 8, 8)]),
        ("per_node", 12, [8, 4], [(0, 2, 1), (1, 2, 1)]),
        ("per_gpu", 12, [8, 4], [(0, 12, 8), (8, 12, 4)]),
    ],
)
def test_ranks_follow_from_processes_and_not_from_the_place(
    processes: str, gpus: int, per_node: list[int], ranks: list[tuple[int, int, int]]
) -> None:
    cluster = make_cluster()
    agents = [join(cluster, f"n{at}", gpus=count) for at, count in enumerate(per_node)]
    make_jobs(cluster, make_tenant(), 1, min_gpus=gpus, max_gpus=gpus, processes=processes)
    run_round(cluster.pk, now=NOW)
    gangs = [wanted.gang for agent in agents for wanted in agent.sync().attempts]
    found = [(g.first_rank, g.world_size, g.local_world_size) for g in gangs if g is not None]
    assert found == ranks
    assert {gang.nodes for gang in gangs if gang is not None} == {len(per_node)}
    alone = len(per_node) == 1
    assert all((gang.master_address == "127.0.0.1") == alone for gang in gangs if gang is not None)


def test_time_spent_in_earlier_attempts_counts() -> None:
    made = scene(time_limit_s=60)
    (wanted,) = made.agent.sync().attempts
    assert (wanted.processes, wanted.time_limit_s) == (Processes.ONE, 60)
    made.agent.running(wanted)
    made.agent.sync()
    made.agent.ended(wanted, exit_code=None, end=End.NODE_REBOOTED)
    later = NOW + timedelta(seconds=45)
    made.agent.sync(now=later)
    made.round(later)
    (second,) = made.agent.sync(now=later).attempts
    assert second.time_limit_s == 15


@pytest.mark.parametrize("gone", ["volume datasets", "secret key"])
def test_what_is_gone_since_the_submit_ends_the_job(gone: str) -> None:
    made = scene(**BROUGHT)
    (Volume if gone.startswith("volume") else Secret).objects.all().delete()
    assert made.agent.sync().attempts == ()
    made.job.refresh_from_db()
    assert (made.job.state, made.job.reason) == ("failed", "input_gone")
    assert gone in explain(made.job, now=NOW).text
    assert Attempt.objects.get().state == "ended"


def fetch(made: Scene, wanted: DesiredAttempt, **fields: Any) -> Any:
    query = {"epoch": made.agent.epoch, "fence": wanted.fence, **fields}
    path = f"/api/v1/agent/attempts/{wanted.attempt_id}/workdir?{urlencode(query)}"
    return made.api().get(path)


def test_a_node_fetches_the_archive_of_its_attempt() -> None:
    made = scene()
    blob = stored(made.tenant, ARCHIVE)
    Job.objects.update(workdir=blob)
    (wanted,) = made.agent.sync().attempts
    assert wanted.workdir is not None
    assert wanted.workdir.archive is not None
    assert wanted.workdir.archive.digest == digest(ARCHIVE)
    whole = fetch(made, wanted)
    assert (whole.status_code, b"".join(whole)) == (200, ARCHIVE)
    query = urlencode({"epoch": made.agent.epoch, "fence": wanted.fence})
    path = f"/api/v1/agent/attempts/{wanted.attempt_id}/workdir?{query}"
    rest = made.api().get(path, {"Range": "bytes=10-"})
    assert (rest.status_code, b"".join(rest)) == (206, ARCHIVE[10:])
    beyond = made.api().get(path, {"Range": f"bytes={len(ARCHIVE)}-"})
    assert beyond.status_code == 416


def test_files_are_fenced() -> None:
    made = scene()
    Job.objects.update(workdir=stored(made.tenant, ARCHIVE))
    (wanted,) = made.agent.sync().attempts
    other = join(made.cluster, "n2")
    assert fetch(made, wanted, fence=wanted.fence + 1).status_code == 404
    assert fetch(made, wanted, epoch=made.agent.epoch + 1).json()["code"] == "stale_epoch"
    assert fetch(made, wanted, epoch="x").status_code == 400
    assert fetch(made, wanted, colour="red").status_code == 400
    stranger = Scene(made.cluster, made.tenant, other, made.job)
    assert fetch(stranger, wanted).status_code == 404
    assert Api().get(f"/api/v1/agent/attempts/{wanted.attempt_id}/workdir").status_code == 401


MODEL = bytes(range(256)) * 8192


def send(
    made: Scene,
    wanted: DesiredAttempt,
    data: bytes,
    offset: int = 0,
    *,
    name: str = "model",
    **fields: Any,
) -> Any:
    query = {
        "epoch": made.agent.epoch,
        "fence": wanted.fence,
        "offset": offset,
        "size": len(data),
        "digest": digest(data),
        **fields,
    }
    said = urlencode({name: value for name, value in query.items() if value is not None})
    path = f"/api/v1/agent/attempts/{wanted.attempt_id}/artifacts/{name}?{said}"
    body = data[offset : offset + MAX_PART_BYTES] if query["digest"] else b""
    return made.api().send("PUT", path, body, content_type="application/octet-stream")


def ended(made: Scene, **told: Any) -> DesiredAttempt:
    (wanted,) = made.agent.sync().attempts
    made.agent.ended(wanted, **told)
    made.agent.sync()
    return wanted


def test_an_artifact_is_sent_listed_and_downloaded(member_of: Any) -> None:
    made = scene(**BROUGHT)
    wanted, reader = ended(made), member_of(made.tenant)
    listing = f"/api/v1/jobs/{made.job.pk}/artifacts/"
    (pending,) = reader.get(listing).json()["items"]
    assert (pending["state"], pending["size"]) == ("pending", None)
    content = f"/api/v1/artifacts/{pending['id']}/content/"
    assert reader.get(content).json()["code"] == "artifact_pending"
    assert send(made, wanted, MODEL).json() == {
        "offset": MAX_PART_BYTES,
        "closed": False,
        "detail": "",
    }
    assert send(made, wanted, MODEL).json()["offset"] == MAX_PART_BYTES
    assert send(made, wanted, MODEL, MAX_PART_BYTES).json()["closed"]
    assert send(made, wanted, MODEL).json()["closed"]
    (kept,) = reader.get(listing).json()["items"]
    assert (kept["state"], kept["size"], kept["digest"]) == ("stored", len(MODEL), digest(MODEL))
    assert b"".join(reader.get(content)) == MODEL
    part = reader.get(content, {"Range": "bytes=5-9"})
    assert (part.status_code, b"".join(part), part["Content-Range"]) == (
        206,
        MODEL[5:10],
        f"bytes 5-9/{len(MODEL)}",
    )
    stranger = member_of(make_tenant("other"))
    assert stranger.get(content).status_code == 404
    assert stranger.get(listing).status_code == 404
    assert reader.delete(f"/api/v1/artifacts/{kept['id']}/").status_code == 204
    assert Tenant.objects.get(pk=made.tenant.pk).storage_used_bytes == 0
    assert not Blob.objects.exists()


@pytest.fixture
def member_of() -> Any:
    def make(tenant: Tenant) -> Api:
        made = token_create(SYSTEM, name="t", role=Role.MEMBER, tenant_id=tenant.pk)
        return Api(made.secret)

    return make


def test_bad_artifacts() -> None:
    made = scene(**BROUGHT)
    wanted = ended(made)
    assert send(made, wanted, MODEL, name="other").status_code == 404
    assert send(made, wanted, MODEL, fence=wanted.fence + 1).status_code == 404
    assert send(made, wanted, MODEL, size="x").status_code == 400
    assert send(made, wanted, MODEL, offset=5).json()["offset"] == 0
    missing = send(made, wanted, b"", digest=None, fault="nothing at out/model")
    assert missing.json() == {"offset": 0, "closed": True, "detail": "nothing at out/model"}
    assert Artifact.objects.get().state == "missing"


def test_an_artifact_above_the_quota_is_refused_and_harms_nobody() -> None:
    made = scene(**BROUGHT)
    wanted = ended(made)
    Tenant.objects.update(storage_quota_bytes=10)
    answer = send(made, wanted, MODEL).json()
    assert answer["closed"]
    assert "storage is full" in answer["detail"]
    assert (Artifact.objects.get().state, Upload.objects.count()) == ("refused", 0)


def test_bytes_that_are_not_what_was_said_are_refused() -> None:
    made = scene(**BROUGHT)
    wanted = ended(made)
    answer = send(made, wanted, b"short", digest=digest(b"other"))
    assert answer.json()["closed"]
    assert Artifact.objects.get().state == "refused"


def test_an_empty_artifact_is_one_too() -> None:
    made = scene(**BROUGHT)
    wanted = ended(made)
    assert send(made, wanted, b"").json()["closed"]
    assert Artifact.objects.get().state == "stored"


def test_old_artifacts_and_unused_archives_are_swept(settings: Settings) -> None:
    made = scene(**BROUGHT)
    archive = stored(made.tenant, ARCHIVE)
    Job.objects.update(workdir=archive)
    wanted = ended(made)
    send(made, wanted, b"model")
    assert Blob.objects.count() == 2
    soon = NOW + timedelta(days=settings.ARTIFACTS_KEEP_DAYS - 1)
    assert (artifacts_forget(now=soon), blobs_collect(now=soon)) == (0, 0)
    Artifact.objects.update(created_at=NOW)
    Blob.objects.update(used_at=NOW)
    late = NOW + timedelta(days=settings.ARTIFACTS_KEEP_DAYS + 1)
    assert (artifacts_forget(now=late), blobs_collect(now=late)) == (1, 2)
    assert Job.objects.get().workdir is None
    assert Tenant.objects.get().storage_used_bytes == 0


def test_the_archive_of_a_job_that_may_run_is_kept() -> None:
    made = scene(held=True)
    Job.objects.update(workdir=stored(made.tenant, ARCHIVE), held=True)
    assert blobs_collect(now=NOW + timedelta(days=400)) == 0


def test_a_job_that_fails_is_tried_again_later_and_later() -> None:
    made = scene(max_retries=2, retry_on=["exit"], retry_backoff_s=10)
    for expected_s in (10, 20):
        ended(made, exit_code=1)
        made.job.refresh_from_db()
        assert (made.job.state, made.job.reason) == ("queued", "exit_1")
        assert made.job.retry_at == NOW + timedelta(seconds=expected_s)
        made.round()
        assert made.agent.sync().attempts == ()
        assert explain(made.job, now=NOW).reason == "retry_backoff"
        made.round(NOW + timedelta(seconds=expected_s))
    ended(made, exit_code=1)
    made.job.refresh_from_db()
    assert (made.job.state, made.job.retries, Attempt.objects.count()) == ("failed", 2, 3)
    assert "tried 3 times" in explain(made.job, now=NOW).text


@pytest.mark.parametrize(
    ("told", "reason", "words"),
    [
        ({"exit_code": 3}, "exit_3", "exit code 3 on n1"),
        ({"exit_code": None, "signal": 11}, "signal_11", "SIGSEGV (signal 11)"),
        ({"exit_code": None, "signal": 9, "out_of_memory": True}, "out_of_memory", "more memory"),
        ({"exit_code": None, "end": End.TIME_LIMIT}, "time_limit", "time limit of 60 s"),
    ],
)
def test_an_end_is_explained_in_one_sentence(told: dict[str, Any], reason: str, words: str) -> None:
    made = scene(time_limit_s=60)
    wanted = ended(made, **told)
    _printed(wanted.attempt_id, b"warming up\nValueError: bad loss\n\n")
    made.job.refresh_from_db()
    found = explain(made.job, now=NOW)
    assert (found.reason, found.ended is not None) == (reason, True)
    assert words in found.text
    assert found.ended is not None
    assert found.ended.stderr == "ValueError: bad loss"
    assert (found.ended.exit_code, found.ended.signal) == (told["exit_code"], told.get("signal"))
    attempt = Attempt.objects.get()
    assert (attempt.exit_code, attempt.out_of_memory) == (
        told["exit_code"],
        told.get("out_of_memory", False),
    )


def _printed(attempt_id: int, text: bytes) -> None:
    attempt = Attempt.objects.get(pk=attempt_id)
    log = Log.objects.create(
        tenant_id=attempt.tenant_id,
        attempt=attempt,
        node=attempt.parts.get().node,
        stream="stderr",
        size=len(text),
        closed=True,
        updated_at=NOW,
    )
    LogChunk.objects.create(tenant_id=attempt.tenant_id, log=log, offset=0, data=text)


def test_a_refusal_says_who_refused_and_why() -> None:
    made = scene()
    for _ in range(3):
        ended(made, exit_code=None, end=End.REFUSED, detail="no container tool")
        made.round()
    made.job.refresh_from_db()
    text = explain(made.job, now=NOW).text
    assert (made.job.state, "no container tool" in text, "n1" in text) == ("failed", True, True)


def test_what_cannot_be_brought_fails_the_job_at_once_and_says_why() -> None:
    made = scene(max_retries=2, retry_on=["exit"])
    ended(made, exit_code=None, end=End.INPUT_FAILED, detail="no commit 12ab")
    made.job.refresh_from_db()
    assert (made.job.state, made.job.reason) == ("failed", "input_failed")
    text = explain(made.job, now=NOW).text
    assert text == "What it brings along could not be used on n1: no commit 12ab."


def test_artifacts_that_are_not_there_are_told_with_the_end() -> None:
    made = scene(**BROUGHT)
    wanted = ended(made, exit_code=0)
    made.job.refresh_from_db()
    assert explain(made.job, now=NOW).text == (
        "It has ended well. Its artifact model is on its way from n1."
    )
    send(made, wanted, b"", digest=None, fault="there is nothing at out/model")
    assert explain(made.job, now=NOW).text == (
        "It has ended well. Its artifact model was not kept from n1: there is nothing at out/model."
    )
