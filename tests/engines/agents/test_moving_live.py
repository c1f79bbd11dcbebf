"""Real agents and a real training: it is moved and resized, and each time resumes at its step."""

import os
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest
from django.utils import timezone

from clusters.models import Cluster, Gpu, Node
from energy.ledger.balance import node_balance
from energy.models import Meter, Sample
from energy.telemetry.digest import samples_digest
from jobs.models import Attempt, Job
from jobs.services.cancel import job_cancel
from policies.contract.plan import Move, Piece, Plan, PowerNode, Resize
from scheduler_service.factories import make_cluster, make_jobs, make_tenant
from scheduling.apply.apply import apply_plan
from scheduling.models import Round
from scheduling.round import run_round
from tenancy.callers import SYSTEM
from tests.agent.process import ROOT, TWO_GPUS, AgentProcess
from tests.engines.agents.nodes import join_token

pytestmark = [pytest.mark.process, pytest.mark.django_db(transaction=True)]

PATIENCE_S = 120.0


def _until(holds: Callable[[], Any], what: str | Callable[[], str]) -> Any:
    ends_s = monotonic() + PATIENCE_S
    while not (found := holds()):
        said = what if isinstance(what, str) else what()
        assert monotonic() < ends_s, f"not within {PATIENCE_S:.0f} s: {said}"
        sleep(0.1)
    return found


@pytest.fixture
def cluster() -> Cluster:
    return make_cluster(power_off=True)


@pytest.fixture
def agents(cluster: Cluster, live_server: Any, tmp_path: Path) -> Iterator[dict[str, AgentProcess]]:
    catalogue = tmp_path / "node.toml"
    catalogue.write_text(TWO_GPUS.replace("peak_w = 600", "peak_w = 600\nboot_s = 1"))
    made: dict[str, AgentProcess] = {}
    for name in ("n1", "n2"):
        env = os.environ | {"PYTHONPATH": str(ROOT), "NO_PROXY": "*"}
        env["FAIRWATT_JOIN_TOKEN"] = join_token(cluster, timezone.now())
        made[name] = AgentProcess(live_server.url, tmp_path / name, catalogue, env, name)
        made[name].start("--checkpoint-dir", str(tmp_path / "checkpoints"))
    try:
        _until(lambda: Node.objects.filter(state="ready").count() == 2, "both have joined")
        yield made
    finally:
        for agent in made.values():
            agent.stop()


def _running_past(job: Job, number: int, step: int) -> Attempt:
    """The attempt, once it runs and has come further than the step."""

    def found() -> Attempt | None:
        job.refresh_from_db()
        there = job.state == "running" and job.work_done > step
        return Attempt.objects.filter(job=job, number=number).first() if there else None

    def said() -> str:
        return f"attempt {number} runs past step {step}: {job.state} {job.reason} {job.work_done}"

    attempt = _until(found, said)
    assert isinstance(attempt, Attempt)
    return attempt


def _first_line(agent: AgentProcess, attempt: Attempt) -> str:
    directory = agent.run_dir(attempt.pk)
    assert directory is not None
    said = _until((directory / "stdout.log").read_text, "it says something")
    return str(said).splitlines()[0]


def _apply(cluster: Cluster, **acts: Any) -> None:
    latest = Round.objects.latest("pk")
    now = timezone.now()
    applied = apply_plan(Plan(**acts), cluster_id=cluster.pk, round_id=latest.pk, now=now)
    assert applied.stale == []


def test_moved_and_resized_it_resumes_at_its_step(
    cluster: Cluster, agents: dict[str, AgentProcess]
) -> None:
    train = [sys.executable, str(ROOT / "examples" / "train_gpu_like.py"), "--steps", "1000000"]
    train += ["--batch", "1", "--pause-s", "0.02"]
    (job,) = make_jobs(cluster, make_tenant(), 1, argv=train, max_gpus=2, work_total=1_000_000)
    here, there = Node.objects.order_by("name")
    Node.objects.filter(pk=there.pk).update(state="drained")
    run_round(cluster.pk, now=timezone.now())
    Node.objects.filter(pk=there.pk).update(state="ready")
    _running_past(job, 1, 10)

    _apply(cluster, moves=(Move(job.pk, (Piece(there.pk, 0b10, 1, 1024),), 810),))
    second = _running_past(job, 2, int(job.work_done))

    began = int(_first_line(agents["n2"], second).removeprefix("starting at step "))
    assert began > 10
    first = Attempt.objects.get(job=job, number=1)
    assert (first.state, first.reason) == ("ended", "moved")

    _apply(cluster, resizes=(Resize(job.pk, (Piece(there.pk, 0b11, 2, 2048),)),))
    third = _running_past(job, 3, int(job.work_done))

    assert int(_first_line(agents["n2"], third).removeprefix("starting at step ")) > began
    assert third.gpus == 2
    job_cancel(caller=SYSTEM, job_id=job.pk, now=timezone.now())
    _until(lambda: Job.objects.get(pk=job.pk).state == "cancelled", "it has stopped")
    _billed_once(here, there)


def _billed_once(*nodes: Node) -> None:
    """Every attempt has a meter per GPU, and no two of one GPU overlap."""
    _until(lambda: not Meter.objects.filter(final=False).exists(), "all meters are final")
    samples_digest()
    counts = [Meter.objects.filter(attempt__number=number).count() for number in (1, 2, 3)]
    assert counts == [1, 1, 2]
    for gpu in Gpu.objects.filter(node__in=nodes):
        spans = list(
            Meter.objects.filter(gpu=gpu).order_by("start_mj").values("start_mj", "now_mj")
        )
        for before, after in pairwise(spans):
            assert before["now_mj"] <= after["start_mj"]
    assert all(node_balance(node) for node in nodes)


def test_an_emulated_node_goes_off_and_comes_back(
    cluster: Cluster, agents: dict[str, AgentProcess]
) -> None:
    make_jobs(cluster, make_tenant(), 1, argv=["sleep", "0"])
    run_round(cluster.pk, now=timezone.now())
    node = Node.objects.get(gpus_in_use=0)

    _apply(cluster, power=(PowerNode(node.pk, on=False),))
    assert Node.objects.get(pk=node.pk).state == "off"
    _until(lambda: _newest_mw(node) == {0}, "its GPUs draw nothing")

    _apply(cluster, power=(PowerNode(node.pk, on=True),))
    _until(lambda: Node.objects.get(pk=node.pk).state == "ready", "it is back")
    _until(lambda: _newest_mw(node) == {55_000}, "its GPUs idle")


def _newest_mw(node: Node) -> set[int]:
    samples_digest()
    rows = Sample.objects.order_by("-at").values_list("power_mw", flat=True)
    return {rows.filter(gpu_id=gpu.pk)[0] for gpu in Gpu.objects.filter(node=node)}
