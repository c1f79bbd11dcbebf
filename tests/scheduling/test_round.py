"""A round places jobs, says why others wait, and changes nothing when its plan is bad."""

from datetime import datetime, timedelta

import pytest

from clusters.models import Cluster, Gpu, Node
from jobs.models import Allocation, Attempt, GpuQuota, Job, JobEvent
from policies.contract.plan import Piece, Plan, Start
from policies.contract.snapshot import Snapshot
from scheduler_service.factories import (
    NOW,
    make_cluster,
    make_gpu_type,
    make_jobs,
    make_nodes,
    make_tenant,
)
from scheduling.explain import explain
from scheduling.lock import cluster_lock
from scheduling.models import Decision, Round
from scheduling.replay import NotReplayable, replay
from scheduling.retention import forget_rounds
from scheduling.round import decide, run_round
from scheduling.snapshot.load import load_snapshot
from tenancy.models import Tenant

pytestmark = pytest.mark.django_db


def test_a_job_that_fits_is_placed() -> None:
    cluster, tenant = make_cluster(), make_tenant(gpu_quota=8)
    (node,) = make_nodes(cluster, make_gpu_type(), 1)
    (job,) = make_jobs(
        cluster, tenant, 1, min_gpus=3, max_gpus=3, cpus_per_gpu=2, memory_mib_per_gpu=1000
    )

    entry = run_round(cluster.pk, now=NOW)

    assert entry is not None
    assert (entry.status, entry.started, entry.waiting, entry.stale) == ("done", 1, 0, 0)
    job.refresh_from_db()
    assert (job.state, job.reason, job.placed_at) == ("placed", "placed", NOW)
    attempt = Attempt.objects.get(job=job)
    assert (attempt.number, attempt.state, attempt.gpus, attempt.round_id) == (
        1,
        "offered",
        3,
        entry.pk,
    )
    held = list(Allocation.objects.filter(attempt=attempt))
    assert [(a.node_id, a.cpus, a.memory_mib, a.released_at) for a in held] == [
        (node.pk, 2, 1000, None)
    ] * 3
    node.refresh_from_db()
    assert (node.cpus_used, node.memory_used_mib) == (6, 3000)
    assert Tenant.objects.get(pk=tenant.pk).gpus_in_use == 3
    event = JobEvent.objects.get(job=job)
    assert (event.from_state, event.to_state, event.detail) == (
        "queued",
        "placed",
        {"round": entry.pk},
    )
    decision = Decision.objects.get(job=job)
    assert (decision.action, decision.applied, decision.round_id) == ("start", True, entry.pk)


def test_a_gang_spans_nodes_whole_or_waits() -> None:
    cluster, tenant = make_cluster(), make_tenant()
    make_nodes(cluster, make_gpu_type(), 2, gpus=4)
    fits, too_large = make_jobs(cluster, tenant, 1, min_gpus=6, max_gpus=6) + make_jobs(
        cluster, tenant, 1, min_gpus=9, max_gpus=9
    )

    run_round(cluster.pk, now=NOW)

    assert Allocation.objects.filter(attempt__job=fits).count() == 6
    assert not Attempt.objects.filter(job=too_large).exists()
    explanation = explain(Job.objects.get(pk=too_large.pk), now=NOW)
    assert explanation.reason == "larger_than_partition"
    assert {"action": "reduce_gpus", "to": 2, "text": "ask for 2 GPUs"} in explanation.remedies


def test_a_wait_is_explained_and_written_once() -> None:
    cluster, tenant = make_cluster(), make_tenant(gpu_quota=1)
    make_nodes(cluster, make_gpu_type(), 1)
    first, second = make_jobs(cluster, tenant, 2)

    run_round(cluster.pk, now=NOW)
    run_round(cluster.pk, now=NOW + timedelta(seconds=1))

    explanation = explain(Job.objects.get(pk=second.pk), now=NOW)
    assert (explanation.reason, explanation.position) == ("quota", 1)
    assert "raise the tenant's quota by 1 GPUs" in explanation.text
    assert Decision.objects.filter(job=second, action="wait").count() == 1
    assert explain(Job.objects.get(pk=first.pk), now=NOW).text.startswith("It has its GPUs")


def test_explain_before_any_round() -> None:
    (job,) = make_jobs(make_cluster(), make_tenant(), 1)

    assert explain(job, now=NOW).reason == "not_considered"


def test_quota_of_a_gpu_type_holds() -> None:
    cluster, tenant, kind = make_cluster(), make_tenant(), make_gpu_type()
    GpuQuota.objects.create(tenant=tenant, gpu_type=kind, gpus=2)
    make_nodes(cluster, kind, 1)
    make_jobs(cluster, tenant, 5)

    run_round(cluster.pk, now=NOW)

    assert Attempt.objects.count() == 2
    assert GpuQuota.objects.get().gpus_in_use == 2


def test_preemption_of_an_unfetched_attempt_frees_its_gpus_for_the_claimant() -> None:
    cluster = make_cluster(policy="srtf", policy_parameters={"min_run_s": 0})
    tenant = make_tenant()
    make_nodes(cluster, make_gpu_type(), 1, gpus=1)
    (long,) = make_jobs(cluster, tenant, 1, estimated_run_s=10_000)
    run_round(cluster.pk, now=NOW)
    (short,) = make_jobs(cluster, tenant, 1, estimated_run_s=10)

    preempting = run_round(cluster.pk, now=NOW + timedelta(seconds=60))
    starting = run_round(cluster.pk, now=NOW + timedelta(seconds=61))

    assert preempting is not None
    assert starting is not None
    assert (preempting.preempted, preempting.started) == (1, 0)
    assert starting.started == 1
    assert Job.objects.get(pk=short.pk).state == "placed"
    assert Job.objects.get(pk=long.pk).state == "queued"
    moves = JobEvent.objects.filter(job=long).values_list("to_state", flat=True).order_by("id")
    assert list(moves) == ["placed", "preempting", "queued"]
    assert Attempt.objects.get(job=long).state == "ended"


def test_preemption_of_a_fetched_attempt_waits_for_its_agent() -> None:
    cluster = make_cluster(policy="srtf", policy_parameters={"min_run_s": 0})
    tenant = make_tenant()
    make_nodes(cluster, make_gpu_type(), 1, gpus=1)
    (long,) = make_jobs(cluster, tenant, 1, estimated_run_s=10_000)
    run_round(cluster.pk, now=NOW)
    Attempt.objects.update(state="starting")
    (short,) = make_jobs(cluster, tenant, 1, estimated_run_s=10)

    run_round(cluster.pk, now=NOW + timedelta(seconds=60))
    run_round(cluster.pk, now=NOW + timedelta(seconds=61))

    assert Job.objects.get(pk=long.pk).state == "preempting"
    assert Attempt.objects.get(job=long).state == "stopping"
    assert Job.objects.get(pk=short.pk).state == "queued"


def test_entries_the_world_no_longer_allows_are_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, tenant = make_cluster(), make_tenant()
    nodes = make_nodes(cluster, make_gpu_type(), 4, gpus=1)
    jobs = make_jobs(cluster, tenant, 4)

    def meanwhile(cluster: Cluster, *, now: datetime, seed: int) -> Snapshot:
        snapshot = load_snapshot(cluster, now=now, seed=seed)
        Node.objects.filter(pk=nodes[0].pk).update(state="draining")
        Gpu.objects.filter(node=nodes[1]).update(healthy=False)
        Job.objects.filter(pk=jobs[2].pk).update(held=True)
        return snapshot

    monkeypatch.setattr("scheduling.round.load_snapshot", meanwhile)
    entry = run_round(cluster.pk, now=NOW)

    assert entry is not None
    assert (entry.started, entry.stale) == (1, 3)
    assert Job.objects.filter(state="placed").count() == 1
    assert Node.objects.get(pk=nodes[1].pk).cpus_used == 0
    assert Tenant.objects.get().gpus_in_use == 1
    assert Attempt.objects.count() == 1
    assert Decision.objects.filter(applied=False, reason="stale").count() == 3


def test_a_plan_that_breaks_an_invariant_is_refused_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, tenant = make_cluster(), make_tenant()
    (node,) = make_nodes(cluster, make_gpu_type(), 1)
    one, two = make_jobs(cluster, tenant, 2)

    class Doubles:
        def plan(self, snapshot: Snapshot) -> Plan:
            piece = (Piece(node.pk, 0b1, 1, 1024),)
            return Plan(starts=(Start(one.pk, piece), Start(two.pk, piece)))

    monkeypatch.setattr("policies.registry.build", lambda name, parameters: Doubles())
    entry = run_round(cluster.pk, now=NOW)

    assert entry is not None
    assert entry.status == "failed"
    assert "PlanRefused" in entry.error
    assert not Attempt.objects.exists()
    assert explain(one, now=NOW).reason == "round_failed"


def test_a_policy_that_crashes_fails_its_round_only(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = make_cluster()
    make_jobs(cluster, make_tenant(), 1)

    class Crashes:
        def plan(self, snapshot: Snapshot) -> Plan:
            raise ZeroDivisionError("by zero")

    monkeypatch.setattr("policies.registry.build", lambda name, parameters: Crashes())
    entry = run_round(cluster.pk, now=NOW)

    assert entry is not None
    assert entry.error == "ZeroDivisionError: by zero"


def test_no_round_is_stored_for_a_cluster_without_jobs() -> None:
    assert run_round(make_cluster().pk, now=NOW) is None
    assert not Round.objects.exists()


def test_a_stored_round_replays_to_the_same_plan() -> None:
    cluster, tenant = make_cluster(policy="las"), make_tenant()
    make_nodes(cluster, make_gpu_type(), 2)
    make_jobs(cluster, tenant, 40)
    entry = run_round(cluster.pk, now=NOW)
    assert entry is not None

    assert replay(Round.objects.get(pk=entry.pk)).identical

    Round.objects.filter(pk=entry.pk).update(
        policy="fair-share", parameters={"placement": "spread"}
    )
    other = replay(Round.objects.get(pk=entry.pk))
    assert not other.identical
    assert any("start on node" in line for line in other.differences)


def test_retention_keeps_digests_and_says_why_there_is_no_replay() -> None:
    cluster, tenant = make_cluster(), make_tenant()
    make_jobs(cluster, tenant, 1)
    rounds = [run_round(cluster.pk, now=NOW + timedelta(seconds=s)) for s in range(3)]

    forget_rounds(now=NOW, replayable=1)

    kept = [entry.snapshot is not None for entry in Round.objects.order_by("id")]
    assert kept == [False, False, True]
    assert rounds[0] is not None
    oldest = Round.objects.get(pk=rounds[0].pk)
    assert oldest.snapshot_digest
    with pytest.raises(NotReplayable, match="retention"):
        replay(oldest)
    forget_rounds(now=NOW + timedelta(days=31))
    assert not Round.objects.exists()


def test_shadow_policy_reports_without_acting() -> None:
    cluster = make_cluster(shadow_policy="priority", shadow_parameters={})
    tenant = make_tenant()
    make_nodes(cluster, make_gpu_type(), 1, gpus=1)
    first, urgent = make_jobs(cluster, tenant, 2)
    # Of two that came at one moment every policy prefers the higher priority.
    Job.objects.filter(pk=first.pk).update(submitted_at=first.submitted_at - timedelta(seconds=1))
    Job.objects.filter(pk=urgent.pk).update(priority=100)

    entry = run_round(cluster.pk, now=NOW)

    assert entry is not None
    assert entry.shadow_difference is not None
    assert entry.shadow_difference["only_active"] == [first.pk]
    assert entry.shadow_difference["only_shadow"] == [urgent.pk]
    assert entry.shadow_ms is not None
    assert Job.objects.get(pk=urgent.pk).state == "queued"


def test_a_broken_shadow_does_not_break_the_round() -> None:
    cluster = make_cluster(shadow_policy="fifo", shadow_parameters={"nonsense": 1})
    make_nodes(cluster, make_gpu_type(), 1)
    make_jobs(cluster, make_tenant(), 1)

    entry = run_round(cluster.pk, now=NOW)

    assert entry is not None
    assert entry.started == 1
    assert entry.shadow_difference is not None
    assert "nonsense" in entry.shadow_difference["error"]


def test_a_suspended_tenants_jobs_do_not_start() -> None:
    cluster, tenant = make_cluster(), make_tenant(suspended=True)
    make_nodes(cluster, make_gpu_type(), 1)
    make_jobs(cluster, tenant, 1)

    run_round(cluster.pk, now=NOW)

    assert not Attempt.objects.exists()
    assert explain(Job.objects.get(), now=NOW).reason == "quota"


def test_the_lock_is_held_by_one_and_freed_after() -> None:
    cluster = make_cluster()
    with cluster_lock(cluster.pk) as held:
        assert held
    with cluster_lock(cluster.pk) as again:
        assert again


def test_policy_switch_is_effective_in_the_next_round() -> None:
    cluster, tenant = make_cluster(), make_tenant()
    make_jobs(cluster, tenant, 1)
    first = decide(cluster.pk, now=NOW)
    type(cluster).objects.update(policy="edf")

    second = decide(cluster.pk, now=NOW)

    assert first is not None
    assert second is not None
    assert (first.policy, second.policy) == ("fifo", "edf")
