"""A moved job stops, keeps its new place meanwhile and goes on there, or is simply queued."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import pytest

from agent.wire import DesiredAttempt, End
from clusters.models import Cluster, Gpu, Node
from engines.agents.loss import watch_nodes
from jobs.models import Allocation, Attempt, Job, JobEvent
from jobs.services.cancel import job_cancel
from policies.contract.invariants import check_plan
from policies.contract.plan import Move, Piece, Plan, Resize, SetClock, Start
from policies.contract.snapshot import JobState
from scheduler_service.factories import NOW, make_cluster, make_jobs, make_tenant
from scheduling.apply import relocation
from scheduling.apply.apply import Applied, apply_plan
from scheduling.explain import explain
from scheduling.models import Decision, Round
from scheduling.round import run_round
from scheduling.snapshot.load import load_snapshot
from tenancy.callers import SYSTEM
from tenancy.models import Tenant
from tests.engines.agents.nodes import Agent, join

pytestmark = pytest.mark.django_db

LATER = NOW + timedelta(seconds=5)


@dataclass
class World:
    """A job of one GPU runs on GPU 0 of `here`; `there` is empty."""

    cluster: Cluster
    tenant: Tenant
    here: Agent
    there: Agent
    job: Job
    running: DesiredAttempt | None = None

    def apply(self, now: datetime = NOW, **acts: object) -> Applied:
        latest = Round.objects.latest("pk")
        plan = Plan(**acts)  # type: ignore[arg-type]
        return apply_plan(plan, cluster_id=self.cluster.pk, round_id=latest.pk, now=now)

    def move(self) -> Move:
        return Move(self.job.pk, (Piece(self.there.node.pk, 0b100, 2, 4096),), 990)

    def grow(self) -> Resize:
        return Resize(self.job.pk, (Piece(self.here.node.pk, 0b11, 2, 2048),))

    def stop(self, now: datetime = LATER, **told: object) -> None:
        """The agent stops the attempt as asked and reports it."""
        self.here.sync(now=now)
        assert self.running is not None
        values = {"exit_code": None, "signal": 15, "end": End.STOPPED, **told}
        self.here.ended(self.running, **values)  # type: ignore[arg-type]
        self.here.sync(now=now)

    def live(self) -> Attempt:
        return Attempt.objects.exclude(state__in=("ended", "lost")).get(job=self.job)

    def holds(self) -> list[tuple[int, int]]:
        held = Allocation.objects.filter(released_at=None, attempt__job=self.job)
        return sorted(held.values_list("node_id", "gpu__index"))

    def reasons(self) -> list[tuple[str, str]]:
        events = JobEvent.objects.filter(job=self.job).order_by("id")
        return list(events.values_list("to_state", "reason"))


@pytest.fixture
def world() -> World:
    cluster, tenant = make_cluster(), make_tenant(gpu_quota=2)
    here = join(cluster, "n1")
    (job,) = make_jobs(cluster, tenant, 1, min_gpus=1, max_gpus=4, work_total=100)
    run_round(cluster.pk, now=NOW)
    made = World(cluster, tenant, here, join(cluster, "n2"), job)
    (made.running,) = here.sync().attempts
    here.running(made.running, progress_step=40)
    here.sync()
    return made


def test_a_moved_job_goes_on_where_the_plan_wants_it(world: World) -> None:
    applied = world.apply(moves=(world.move(),))

    assert (applied.moved, applied.stale) == ([world.job.pk], [])
    job = Job.objects.get(pk=world.job.pk)
    assert (job.state, job.reason) == ("preempting", "moved")
    assert "another place" in explain(job, now=NOW).text
    assert [cancel.reason for cancel in world.here.sync().cancels] == ["moved"]
    assert world.there.sync().attempts == ()

    world.stop(checkpoint_step=41)

    assert world.holds() == [(world.there.node.pk, 2)]
    (again,) = world.there.sync(now=LATER).attempts
    assert (again.checkpoint_key, again.clock_mhz) == (f"job-{job.pk}", 990)
    attempts = Attempt.objects.order_by("number").values_list("number", "state", "reason")
    assert list(attempts) == [(1, "ended", "moved"), (2, "starting", "")]
    assert world.reasons()[2:] == [
        ("preempting", "moved"), ("queued", "moved"), ("placed", "moved"),
    ]  # fmt: skip
    assert Tenant.objects.get().gpus_in_use == 1
    assert (Node.objects.get(name="n1").cpus_used, Node.objects.get(name="n2").cpus_used) == (0, 2)


def test_a_resized_job_keeps_what_it_had_and_gets_more(world: World) -> None:
    assert world.apply(resizes=(world.grow(),)).resized == [world.job.pk]
    assert "other GPUs" in explain(Job.objects.get(pk=world.job.pk), now=NOW).text

    world.stop()

    assert world.holds() == [(world.here.node.pk, 0), (world.here.node.pk, 1)]
    assert world.live().gpus == 2
    assert world.reasons()[-1] == ("placed", "resized")


def test_rounds_meanwhile_see_it_there_and_give_the_place_to_nobody(world: World) -> None:
    world.apply(moves=(world.move(),))

    snapshot = load_snapshot(world.cluster, now=LATER, seed=0)

    jobs, nodes, held = snapshot.jobs, snapshot.nodes, snapshot.placements
    assert (jobs.state.tolist(), jobs.clock_mhz.tolist()) == ([JobState.RUNNING], [990])
    assert not jobs.preemptible.any()
    assert (nodes.id[held.node].tolist(), held.gpus.tolist()) == ([world.there.node.pk], [0b100])
    assert nodes.free_gpus.tolist() == [0b1110, 0b1011]
    assert (nodes.free_cpus.tolist(), nodes.free_mem_mib.tolist()) == (
        [63, 62], [65_536 - 1024, 65_536 - 4096],
    )  # fmt: skip
    second = Move(world.job.pk, (Piece(world.here.node.pk, 0b10, 0, 0),))
    assert {v.code for v in check_plan(snapshot, Plan(moves=(second,)))} == {"not_preemptible"}
    assert world.apply(moves=(second,)).stale == [world.job.pk]


def test_what_a_resize_keeps_is_counted_once(world: World) -> None:
    world.apply(resizes=(world.grow(),))

    snapshot = load_snapshot(world.cluster, now=LATER, seed=0)

    assert snapshot.placements.gpus.tolist() == [0b11]
    assert np.array_equal(snapshot.nodes.free_gpus, [0b1100, 0b1111])
    assert snapshot.nodes.free_cpus.tolist() == [62, 64]


def test_a_place_that_was_lost_meanwhile_leaves_the_job_queued(world: World) -> None:
    world.apply(moves=(world.move(),))
    Gpu.objects.filter(node=world.there.node, index=2).update(fault="fell off the bus")

    world.stop()

    job = Job.objects.get(pk=world.job.pk)
    assert (job.state, job.reason, world.holds()) == ("queued", "moved", [])
    assert Tenant.objects.get().gpus_in_use == 0


def test_a_quota_that_is_full_meanwhile_leaves_the_job_queued(world: World) -> None:
    world.apply(resizes=(world.grow(),))
    Tenant.objects.update(gpu_quota=1)

    world.stop()

    assert Job.objects.get(pk=world.job.pk).state == "queued"


def test_what_the_database_refuses_ends_the_attempt_all_the_same(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.apply(moves=(world.move(),))
    # As if a check had been forgotten: only the CHECK on the node's counters is left.
    monkeypatch.setattr("scheduling.apply.capacity.FreeCapacity._fits", lambda *_: True)
    Node.objects.filter(pk=world.there.node.pk).update(cpus=1)

    world.stop()

    job = Job.objects.get(pk=world.job.pk)
    assert (job.state, job.reason, world.holds()) == ("queued", "moved", [])
    assert Attempt.objects.get().state == "ended"


def test_who_takes_too_long_is_not_waited_for(world: World) -> None:
    world.apply(moves=(world.move(),))
    late = NOW + relocation.PATIENCE

    snapshot = load_snapshot(world.cluster, now=late, seed=0)
    assert snapshot.jobs.state.tolist() == [JobState.STOPPING]
    assert snapshot.nodes.free_gpus.tolist() == [0b1110, 0b1111]

    world.stop(now=late)
    assert Job.objects.get(pk=world.job.pk).state == "queued"


def test_a_node_that_dies_while_its_job_leaves_is_left_all_the_same(world: World) -> None:
    at = NOW + timedelta(seconds=880)
    world.apply(now=at, moves=(world.move(),))
    for seconds in range(0, 960, 5):
        world.there.sync(now=NOW + timedelta(seconds=seconds))
        watch_nodes(now=NOW + timedelta(seconds=seconds))

    assert Attempt.objects.get(number=1).state == "lost"
    assert world.holds() == [(world.there.node.pk, 2)]


def test_what_no_agent_has_fetched_is_there_at_once() -> None:
    cluster, tenant = make_cluster(), make_tenant()
    here = join(cluster, "n1")
    (job,) = make_jobs(cluster, tenant, 1)
    run_round(cluster.pk, now=NOW)
    world = World(cluster, tenant, here, join(cluster, "n2"), job)

    assert world.apply(moves=(world.move(),)).moved == [job.pk]

    assert world.holds() == [(world.there.node.pk, 2)]
    assert world.live().state == "offered"
    assert [state for state, _ in world.reasons()] == ["placed", "preempting", "queued", "placed"]


def test_a_place_that_is_not_free_is_stale_and_stops_nothing(world: World) -> None:
    world.apply(
        starts=tuple(
            Start(job.pk, (Piece(world.there.node.pk, 0b100, 0, 0),))
            for job in make_jobs(world.cluster, world.tenant, 1)
        )
    )

    assert world.apply(moves=(world.move(),)).stale == [world.job.pk]
    assert Job.objects.get(pk=world.job.pk).state == "running"


def test_a_cancelled_job_does_not_go_on(world: World) -> None:
    world.apply(moves=(world.move(),))
    job_cancel(caller=SYSTEM, job_id=world.job.pk, now=NOW)

    world.stop()

    assert (Job.objects.get(pk=world.job.pk).state, world.holds()) == ("cancelled", [])
    assert load_snapshot(world.cluster, now=LATER, seed=0).nodes.free_gpus[1] == 0b1111


def test_one_that_finishes_while_asked_to_stop_has_succeeded(world: World) -> None:
    world.apply(moves=(world.move(),))

    world.stop(exit_code=0, signal=None, end=End.EXITED)

    assert (Job.objects.get(pk=world.job.pk).state, world.holds()) == ("succeeded", [])


def test_a_clock_set_on_the_way_is_the_one_it_starts_with(world: World) -> None:
    world.apply(moves=(world.move(),))

    assert world.apply(clocks=(SetClock(world.job.pk, 705),)).stale == []
    world.stop()

    assert world.live().clock_mhz == 705


def test_moves_are_no_refusals(world: World) -> None:
    world.apply(moves=(world.move(),))
    world.stop()
    for _ in range(2):
        (offered,) = world.there.sync(now=LATER).attempts
        world.there.ended(offered, exit_code=None, end=End.REFUSED, detail="no such file")
        world.there.sync(now=LATER)
        assert Job.objects.get(pk=world.job.pk).state == "queued"
        Node.objects.filter(name="n1").update(state="drained")
        run_round(world.cluster.pk, now=LATER)


def test_a_round_records_whom_it_moves(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    class Mover:
        def plan(self, snapshot: object) -> Plan:
            return Plan(moves=(world.move(),))

    monkeypatch.setattr("policies.registry.build", lambda *_: Mover())

    entry = run_round(world.cluster.pk, now=LATER)

    assert entry is not None
    assert (entry.status, entry.moved, entry.resized, entry.stale) == ("done", 1, 0, 0)
    decision = Decision.objects.get(round=entry, job=world.job)
    assert (decision.action, decision.applied) == ("move", True)
    assert decision.evidence["pieces"][0]["node"] == world.there.node.pk


def test_a_classic_policy_that_migrates_clears_a_node_for_who_needs_it() -> None:
    """Two nodes are half full; the job that needs a whole one gets it once one has moved."""
    parameters = {"migration": True, "min_run_s": 0}
    cluster = make_cluster(policy="sjf", policy_parameters=parameters)
    agents = [join(cluster, "n1"), join(cluster, "n2")]
    tenant = make_tenant()
    half = {"min_gpus": 2, "max_gpus": 2, "span": "node", "estimated_run_s": 1000}
    first, second = make_jobs(cluster, tenant, 2, **half)
    for job, agent in zip((first, second), agents, strict=True):
        earlier = Round.objects.create(
            cluster=cluster, policy="sjf", seed=0, status="done", started_at=NOW, load_ms=0,
            snapshot_digest="",
        )  # fmt: skip
        start = Start(job.pk, (Piece(agent.node.pk, 0b11, 2, 2048),))
        apply_plan(Plan(starts=(start,)), cluster_id=cluster.pk, round_id=earlier.pk, now=NOW)
        (wanted,) = agent.sync().attempts
        agent.running(wanted)
        agent.sync()
    (whole,) = make_jobs(
        cluster, tenant, 1, min_gpus=4, max_gpus=4, span="node", estimated_run_s=10
    )

    entry = run_round(cluster.pk, now=LATER)

    assert entry is not None
    assert (entry.status, entry.moved) == ("done", 1)
    mover = Job.objects.get(state="preempting", reason="moved")
    left = agents[0] if mover.pk == first.pk else agents[1]
    (running,) = left.reports.values()
    left.ended(running, exit_code=None, signal=15, end=End.STOPPED)
    left.sync(now=LATER)
    assert Job.objects.get(pk=mover.pk).state == "placed"
    run_round(cluster.pk, now=LATER)
    held = Allocation.objects.filter(attempt__job=whole, released_at=None)
    assert set(held.values_list("node_id", flat=True)) == {left.node.pk}
