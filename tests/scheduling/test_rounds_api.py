"""Rounds and what they said: operators see all of it, a tenant what concerns its jobs."""

from typing import Any

import pytest

from clusters.models import Cluster
from jobs.models import Job
from scheduler_service.factories import NOW, make_cluster
from scheduling.gaps import bound_round
from scheduling.models import Round
from scheduling.round import decide
from tests.api import Api
from tests.jobs.conftest import JOBS, SUBMIT, Submit, World

pytestmark = pytest.mark.django_db(transaction=True)
ROUNDS = "/api/v1/rounds/"


def run(world: World) -> Round:
    entry = decide(world.cluster.pk, now=NOW)
    assert entry is not None
    return entry


@pytest.fixture
def contended(member: Api, stranger: Api, world: World) -> Round:
    """One job of ours has the whole cluster, one of theirs and one of ours wait for it."""
    for api, name in ((member, "holder"), (stranger, "waiter"), (member, "waiter")):
        assert (
            api.post(JOBS, {**SUBMIT, "name": name, "gpus": 8, "processes": "per_gpu"}).status_code
            == 201
        )
    return run(world)


def entries(api: Api, entry: Round, query: str = "") -> list[dict[str, Any]]:
    answer = api.get(f"{ROUNDS}{entry.pk}/decisions/{query}")
    assert answer.status_code == 200, answer.content
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def test_operators_list_rounds_without_their_blobs(operator: Api, contended: Round) -> None:
    (item,) = operator.get(ROUNDS).json()["items"]
    assert (item["id"], item["cluster"], item["status"]) == (contended.pk, "demo", "done")
    assert (item["started"], item["waiting"], item["queued"]) == (1, 2, 3)
    assert item["plan_ms"] > 0
    assert "snapshot" not in item
    assert operator.get(f"{ROUNDS}{contended.pk}/").json() == item
    assert operator.get(f"{ROUNDS}?cluster=nowhere").json()["items"] == []
    assert len(operator.get(f"{ROUNDS}?policy=fifo&status=done").json()["items"]) == 1


def test_a_round_shows_how_far_from_the_best_it_may_be(
    operator: Api, submit: Submit, world: World
) -> None:
    Cluster.objects.filter(pk=world.cluster.pk).update(policy="fairwatt")
    submit(gpus=8, processes="per_gpu", estimated_run_s=3600)
    submit(gpus=8, processes="per_gpu", estimated_run_s=3600)
    entry = run(world)
    shown = operator.get(f"{ROUNDS}{entry.pk}/").json()
    assert (shown["objective"], shown["bound"], shown["gap"]) == (entry.objective, None, None)
    assert bound_round(entry.pk)
    shown = operator.get(f"{ROUNDS}{entry.pk}/").json()
    assert shown["objective"] == entry.objective
    assert 0 < shown["bound"] < shown["objective"]
    assert shown["gap"] == pytest.approx(1 - shown["bound"] / shown["objective"])
    (listed,) = operator.get(ROUNDS).json()["items"]
    assert listed == shown


def test_tenants_do_not_list_rounds(member: Api, contended: Round) -> None:
    assert member.get(ROUNDS).json()["code"] == "missing_right"
    assert member.get(f"{ROUNDS}{contended.pk}/").status_code == 403


def test_operators_see_every_decision(operator: Api, contended: Round) -> None:
    seen = entries(operator, contended)
    assert [item["job_id"] for item in seen] == list(
        Job.objects.order_by("pk").values_list("pk", flat=True)
    )
    assert [(item["action"], item["applied"]) for item in seen] == [
        ("start", True),
        ("wait", True),
        ("wait", True),
    ]
    assert seen[1]["reason"] == "outranked"
    assert seen[1]["text"]
    assert (seen[1]["ahead"], seen[2]["ahead"]) == (1, 2)
    assert seen[0]["evidence"]["pieces"]


def test_tenants_see_decisions_on_their_own_jobs(
    member: Api, stranger: Api, contended: Round
) -> None:
    ours, theirs = entries(member, contended), entries(stranger, contended)
    owner = dict(Job.objects.values_list("pk", "tenant__name"))
    assert [(item["action"], owner[item["job_id"]]) for item in ours] == [
        ("start", "ours"),
        ("wait", "ours"),
    ]
    assert [(item["action"], owner[item["job_id"]]) for item in theirs] == [("wait", "theirs")]


def test_decisions_come_in_pages(operator: Api, contended: Round) -> None:
    seen, query = [], "?limit=1"
    for _ in range(3):
        answer = operator.get(f"{ROUNDS}{contended.pk}/decisions/{query}").json()
        seen += answer["items"]
        query = f"?limit=1&cursor={answer['next']}"
    assert answer["next"] is None
    assert seen == entries(operator, contended)


@pytest.mark.parametrize("query", ["?limit=0", "?limit=1001", "?cursor=x", "?job=1"])
def test_bad_parameters_are_refused(operator: Api, contended: Round, query: str) -> None:
    answer = operator.get(f"{ROUNDS}{contended.pk}/decisions/{query}")
    assert answer.status_code == 400
    assert operator.get(f"{ROUNDS}999/decisions/").status_code == 404


def test_after_retention_the_recorded_decisions_remain(operator: Api, contended: Round) -> None:
    before = entries(operator, contended)
    Round.objects.update(plan=None, snapshot=None)
    after = entries(operator, contended)
    assert [(i["job_id"], i["action"], i["reason"]) for i in after] == [
        (i["job_id"], i["action"], i["reason"]) for i in before
    ]


def test_nobody_learns_for_whom_a_job_was_stopped(
    member: Api, stranger: Api, operator: Api, world: World
) -> None:
    Cluster.objects.filter(pk=world.cluster.pk).update(
        policy="srtf", policy_parameters={"min_run_s": 0}
    )
    member.post(JOBS, {**SUBMIT, "gpus": 8, "processes": "per_gpu", "estimated_run_s": 100_000})
    run(world)
    stranger.post(JOBS, {**SUBMIT, "gpus": 8, "processes": "per_gpu", "estimated_run_s": 10})
    entry = run(world)
    (stopped,) = [item for item in entries(operator, entry) if item["action"] == "preempt"]
    assert stopped["evidence"]["for_job"] == Job.objects.get(tenant=world.theirs).pk
    (ours,) = entries(member, entry)
    assert ours["action"] == "preempt"
    assert "for_job" not in ours["evidence"]


def test_explain_says_why_and_what_would_help(member: Api, submit: Submit, world: World) -> None:
    running, waiting = submit(gpus=6, processes="per_gpu"), submit(gpus=4)
    before = member.get(f"{JOBS}{waiting.pk}/explain/").json()
    assert (before["reason"], before["round_id"]) == ("not_considered", None)
    Job.objects.update(submitted_at=NOW)
    entry = run(world)

    shown = member.get(f"{JOBS}{waiting.pk}/explain/").json()
    assert (shown["job_id"], shown["state"], shown["reason"]) == (waiting.pk, "queued", "outranked")
    assert (shown["round_id"], shown["position"]) == (entry.pk, 2)
    assert {"action": "reduce_gpus", "to": 2, "text": "ask for 2 GPUs"} in shown["remedies"]
    assert member.get(f"{JOBS}{running.pk}/explain/").json()["state"] == "placed"


def test_explain_of_a_job_no_node_could_hold(member: Api, submit: Submit, world: World) -> None:
    job = submit(gpu_types=["H900"])
    Job.objects.update(submitted_at=NOW)
    run(world)
    shown = member.get(f"{JOBS}{job.pk}/explain/").json()
    assert shown["reason"] == "no_such_gpu_type"
    assert [remedy["name"] for remedy in shown["remedies"]] == ["A100"]


def test_attempts_show_the_gpus_they_hold(
    member: Api, stranger: Api, submit: Submit, world: World
) -> None:
    job = submit(gpus=2, cpus_per_gpu=3)
    run(world)
    (item,) = member.get(f"/api/v1/attempts/?job={job.pk}").json()["items"]
    assert (item["job_id"], item["number"], item["state"], item["gpus"]) == (
        job.pk,
        1,
        "offered",
        2,
    )
    shown = member.get(f"/api/v1/attempts/{item['id']}/").json()
    assert [(a["gpu_index"], a["cpus"]) for a in shown["allocations"]] == [(0, 3), (1, 3)]
    assert {a["node"] for a in shown["allocations"]} <= {"n0", "n1"}
    assert "fence" not in shown
    assert member.get("/api/v1/attempts/?state=lost").json()["items"] == []
    assert stranger.get("/api/v1/attempts/").json()["items"] == []
    assert stranger.get(f"/api/v1/attempts/{item['id']}/").status_code == 404


def test_the_shadow_is_summed_over_rounds(operator: Api, submit: Submit, world: World) -> None:
    Cluster.objects.filter(pk=world.cluster.pk).update(shadow_policy="sjf")
    submit(gpus=8, processes="per_gpu", estimated_run_s=500)
    short = submit(gpus=8, processes="per_gpu", estimated_run_s=5)
    first, second = run(world), run(world)
    shown = operator.get(f"/api/v1/clusters/{world.cluster.pk}/shadow/").json()
    assert (shown["policy"], shown["shadow_policy"], shown["rounds"]) == ("fifo", "sjf", 2)
    assert (shown["first_round_id"], shown["last_round_id"]) == (first.pk, second.pk)
    assert shown["starts"] == {"active": 1, "shadow": 1}
    assert (shown["starts_in_both"], shown["failed"], shown["violating"]) == (0, 0, 0)
    newest = operator.get(f"/api/v1/clusters/{world.cluster.pk}/shadow/?rounds=1").json()
    assert (newest["rounds"], newest["only_shadow"]) == (1, [])
    assert first.shadow_difference is not None
    assert first.shadow_difference["only_shadow"] == [short.pk]


def test_a_shadow_that_fails_is_counted(operator: Api, submit: Submit, world: World) -> None:
    Cluster.objects.filter(pk=world.cluster.pk).update(shadow_policy="nonesuch")
    submit()
    run(world)
    shown = operator.get(f"/api/v1/clusters/{world.cluster.pk}/shadow/").json()
    assert (shown["rounds"], shown["failed"]) == (1, 1)
    assert "nonesuch" in shown["last_error"]


def test_a_cluster_without_shadow_or_rounds(member: Api, operator: Api) -> None:
    cluster = make_cluster("empty")
    shown = operator.get(f"/api/v1/clusters/{cluster.pk}/shadow/").json()
    assert (shown["shadow_policy"], shown["rounds"]) == (None, 0)
    assert operator.get("/api/v1/clusters/999999/shadow/").status_code == 404
    assert member.get(f"/api/v1/clusters/{cluster.pk}/shadow/").status_code == 403
    assert operator.get(f"/api/v1/clusters/{cluster.pk}/shadow/?rounds=0").status_code == 400
