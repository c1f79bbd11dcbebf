"""What is placed is handed out, what ends is recorded once, and who is stale is told to stop."""

from datetime import timedelta

import pytest
from django.db import connection

from agent.wire import AttemptRef, End, Gang, GpuStatus, Sync
from clusters.models import Gpu, Node
from engines.agents.incoming import take_reports
from engines.agents.loss import watch_nodes
from engines.agents.node_state import KnownNode, read_state
from engines.agents.stale import StaleEpoch, StaleFences
from engines.agents.sync import node_sync
from jobs.models import Allocation, Attempt, Job, JobEvent, Part
from jobs.services.cancel import job_cancel
from scheduler_service.factories import NOW, make_cluster, make_jobs, make_tenant
from scheduling.round import run_round
from tenancy.callers import SYSTEM
from tests.engines.agents.nodes import BOOT, Agent, join

pytestmark = pytest.mark.django_db


def _placed(agent_gpus: int = 4, **fields: object) -> tuple[Agent, Job]:
    cluster = make_cluster()
    agent = join(cluster, "n1", gpus=agent_gpus)
    (job,) = make_jobs(cluster, make_tenant(), 1, **fields)
    run_round(cluster.pk, now=NOW)
    return agent, job


def _moves(job: Job) -> list[str]:
    return list(JobEvent.objects.filter(job=job).order_by("id").values_list("to_state", flat=True))


def test_a_placed_attempt_is_handed_out_with_all_it_needs() -> None:
    agent, job = _placed(
        min_gpus=2, max_gpus=2, cpus_per_gpu=3, env={"A": "1"}, argv=["train", "--fast"]
    )

    (wanted,) = agent.sync().attempts

    assert (wanted.job_id, wanted.argv, wanted.cpus) == (job.pk, ("train", "--fast"), 6)
    assert wanted.gpu_uuids == ("GPU-n1-0", "GPU-n1-1")
    assert (wanted.env, wanted.checkpoint_key) == ({"A": "1"}, f"job-{job.pk}")
    assert wanted.gang is not None
    assert wanted.gang == Gang(0, 1, 1, 0, 1, "127.0.0.1", wanted.gang.master_port)
    assert Attempt.objects.get().state == "starting"
    assert Job.objects.get(pk=job.pk).state == "placed"
    assert agent.sync().attempts == (wanted,)


def test_running_then_done() -> None:
    agent, job = _placed()
    (wanted,) = agent.sync().attempts
    agent.running(wanted, progress_step=7)
    agent.sync()
    assert (Job.objects.get().state, Job.objects.get().work_done) == ("running", 7)

    agent.ended(wanted)
    answer = agent.sync(now=NOW + timedelta(seconds=9))

    assert answer.acks == (AttemptRef(wanted.attempt_id, wanted.fence),)
    assert answer.attempts == ()
    assert _moves(job) == ["placed", "running", "succeeded"]
    assert Allocation.objects.filter(released_at=None).count() == 0
    assert Node.objects.get().cpus_used == 0
    assert Job.objects.get().attained_gpu_s == 9


def test_a_job_shorter_than_a_sync_still_ran() -> None:
    agent, job = _placed()
    (wanted,) = agent.sync().attempts

    agent.ended(wanted)
    agent.sync()

    assert _moves(job) == ["placed", "running", "succeeded"]


@pytest.mark.parametrize(
    ("told", "state", "reason"),
    [
        ({"exit_code": 3, "detail": "boom"}, "failed", "exit_3"),
        ({"exit_code": None, "signal": 9}, "failed", "signal_9"),
        ({"exit_code": None, "end": End.NODE_REBOOTED}, "queued", "node_rebooted"),
        ({"exit_code": None, "end": End.SHIM_LOST}, "queued", "shim_lost"),
        ({"exit_code": None, "end": End.REFUSED, "detail": "no such file"}, "queued", "refused"),
    ],
)
def test_how_an_attempt_ends_decides_what_becomes_of_the_job(
    told: dict[str, object], state: str, reason: str
) -> None:
    agent, job = _placed()
    (wanted,) = agent.sync().attempts

    agent.ended(wanted, **told)  # type: ignore[arg-type]
    agent.sync()

    job.refresh_from_db()
    assert (job.state, job.reason) == (state, reason)
    detail = JobEvent.objects.filter(job=job).latest("id").detail
    assert detail["detail"] == told.get("detail", "")


def test_a_job_that_cannot_restart_fails_with_its_node() -> None:
    agent, job = _placed(restartable=False)
    (wanted,) = agent.sync().attempts

    agent.ended(wanted, exit_code=None, end=End.NODE_REBOOTED)
    agent.sync()

    job.refresh_from_db()
    assert (job.state, job.reason) == ("failed", "node_rebooted")


def test_a_job_refused_three_times_fails() -> None:
    agent, job = _placed()
    for _ in range(3):
        (wanted,) = agent.sync().attempts
        agent.ended(wanted, exit_code=None, end=End.REFUSED, detail="no such file")
        agent.sync()
        run_round(job.cluster_id, now=NOW)

    job.refresh_from_db()
    assert (job.state, job.reason) == ("failed", "refused")


def test_a_preempted_job_that_saves_and_exits_well_is_queued_again() -> None:
    agent, job = _placed()
    (wanted,) = agent.sync().attempts
    agent.running(wanted)
    agent.sync()
    Attempt.objects.update(state="stopping")
    Job.objects.update(state="preempting")

    (cancel,) = agent.sync().cancels
    assert (cancel.attempt_id, cancel.fence) == (wanted.attempt_id, wanted.fence)
    agent.ended(wanted, exit_code=0, end=End.STOPPED, progress_step=12, checkpoint_step=12)
    agent.sync()

    job.refresh_from_db()
    assert (job.state, job.reason, job.work_done) == ("queued", "preempted", 12)


def test_a_cancelled_job_is_cancelled_when_its_attempt_has_stopped() -> None:
    agent, job = _placed()
    (wanted,) = agent.sync().attempts
    agent.running(wanted)
    job_cancel(caller=SYSTEM, job_id=job.pk, now=NOW)
    job.refresh_from_db()
    assert (job.state, job.reason) == ("placed", "cancel_requested")

    answer = agent.sync()
    assert [cancel.reason for cancel in answer.cancels] == ["cancel_requested"]
    agent.ended(wanted, exit_code=None, signal=15, end=End.STOPPED)
    agent.sync()

    job.refresh_from_db()
    assert job.state == "cancelled"


def test_the_same_end_told_twice_is_one_end() -> None:
    agent, job = _placed()
    (wanted,) = agent.sync().attempts
    agent.ended(wanted)
    told = dict(agent.reports)
    agent.sync()
    agent.reports = told

    answer = agent.sync()

    assert len(answer.acks) == 1
    assert _moves(job) == ["placed", "running", "succeeded"]


def test_a_late_sync_is_answered_but_not_applied() -> None:
    agent, job = _placed()
    (wanted,) = agent.sync().attempts
    agent.ended(wanted, exit_code=1)
    late = Sync(agent.epoch, 0, BOOT, attempts=tuple(agent.reports.values()))
    agent.reports.clear()

    answer = node_sync(agent.token_id, late, now=NOW)

    assert answer.attempts == (wanted,)
    assert Job.objects.get(pk=job.pk).state == "placed"


def test_an_older_epoch_is_fenced() -> None:
    agent, _ = _placed()
    Node.objects.update(epoch=2)
    agent.node.refresh_from_db()

    with pytest.raises(StaleEpoch):
        node_sync(agent.token_id, Sync(1, 99, BOOT), now=NOW)


def test_a_stale_fence_and_a_foreign_attempt_are_told_to_stop() -> None:
    agent, job = _placed()
    other = join(job.cluster, "n2")
    (wanted,) = agent.sync().attempts
    other.running(wanted)
    with pytest.raises(StaleFences) as foreign:
        other.sync()
    assert foreign.value.extensions["stale"] == [
        {"attempt_id": wanted.attempt_id, "fence": wanted.fence}
    ]

    Attempt.objects.update(fence=wanted.fence + 1000)
    agent.running(wanted)
    with pytest.raises(StaleFences):
        agent.sync()
    assert Job.objects.get(pk=job.pk).state == "placed"


def test_a_gang_gets_its_ranks_and_ends_when_all_parts_have() -> None:
    cluster = make_cluster()
    one, two = join(cluster, "n1", gpus=4), join(cluster, "n2", gpus=4)
    gang = {"min_gpus": 6, "max_gpus": 6, "processes": "per_gpu"}
    (job,) = make_jobs(cluster, make_tenant(), 1, **gang)
    run_round(cluster.pk, now=NOW)
    (first,), (second,) = one.sync().attempts, two.sync().attempts
    assert first.gang is not None
    assert second.gang is not None
    assert sorted([first.gang.first_rank, second.gang.first_rank]) in ([0, 2], [0, 4])
    assert first.gang.world_size == second.gang.world_size == 6
    assert first.gang.master_address == second.gang.master_address
    assert first.gang.master_port == second.gang.master_port

    one.running(first)
    one.sync()
    assert Job.objects.get(pk=job.pk).state == "placed"
    two.running(second)
    two.sync()
    assert Job.objects.get(pk=job.pk).state == "running"
    one.ended(first)
    answer = one.sync()
    assert Job.objects.get(pk=job.pk).state == "running"
    # The part that is done is not wanted again, and the other is left to finish.
    assert (answer.attempts, answer.cancels) == ((), ())
    assert (two.sync().attempts, two.sync().cancels) == ((second,), ())
    two.ended(second)
    two.sync()
    assert Job.objects.get(pk=job.pk).state == "succeeded"


@pytest.mark.parametrize(("exit_code", "waits"), [(0, "on"), (1, "on"), (None, "off")])
def test_an_end_is_on_disk_before_it_is_acknowledged_and_progress_need_not_be(
    exit_code: int | None, waits: str
) -> None:
    agent, _ = _placed()
    (wanted,) = agent.sync().attempts
    agent.running(wanted, progress_step=7)
    agent.sync()
    if exit_code is not None:
        agent.ended(wanted, exit_code, progress_step=8)
    else:
        agent.running(wanted, progress_step=8)
    node = _known(agent)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL synchronous_commit = on")
        take_reports(node, tuple(agent.reports.values()), boot_id=BOOT, now=NOW)
        cursor.execute("SHOW synchronous_commit")
        assert cursor.fetchone() == (waits,)


def _known(agent: Agent) -> KnownNode:
    node = read_state(agent.token_id, agent.epoch)
    assert node is not None
    return node


def test_one_failed_part_stops_the_gang_and_speaks_for_it() -> None:
    cluster = make_cluster()
    one, two = join(cluster, "n1", gpus=4), join(cluster, "n2", gpus=4)
    (job,) = make_jobs(cluster, make_tenant(), 1, min_gpus=6, max_gpus=6)
    run_round(cluster.pk, now=NOW)
    (first,), (second,) = one.sync().attempts, two.sync().attempts
    one.running(first)
    two.running(second)
    one.sync()
    two.sync()

    two.ended(second, exit_code=7, detail="out of memory")
    two.sync()
    assert [cancel.attempt_id for cancel in one.sync().cancels] == [first.attempt_id]
    one.ended(first, exit_code=None, signal=15, end=End.STOPPED)
    one.sync()

    job.refresh_from_db()
    assert (job.state, job.reason) == ("failed", "exit_7")
    assert Allocation.objects.filter(released_at=None).count() == 0


def test_a_gpu_with_foreign_work_is_not_scheduled_until_it_is_gone() -> None:
    cluster = make_cluster()
    agent = join(cluster, "n1", gpus=1)
    agent.sync(gpus=(GpuStatus("GPU-n1-0", healthy=True, foreign_pids=(4242,)),))
    make_jobs(cluster, make_tenant(), 1)
    run_round(cluster.pk, now=NOW)
    assert Gpu.objects.get().fault == "used by processes of others: 4242"
    assert not Attempt.objects.exists()

    agent.sync(gpus=(GpuStatus("GPU-n1-0", healthy=True),))
    run_round(cluster.pk, now=NOW)
    assert Attempt.objects.count() == 1


def test_statuses_of_other_nodes_gpus_change_nothing() -> None:
    cluster = make_cluster()
    join(cluster, "n1", gpus=1)
    liar = join(cluster, "n2", gpus=1)

    liar.sync(gpus=(GpuStatus("GPU-n1-0", healthy=False, health_reason="lost"),))

    assert set(Gpu.objects.values_list("fault", flat=True)) == {""}


def test_a_node_that_is_not_ready_gets_nothing_new() -> None:
    agent, _ = _placed()
    Node.objects.update(state="quarantined")

    assert agent.sync().attempts == ()
    assert not Part.objects.exists()


def test_progress_never_runs_backwards() -> None:
    agent, _ = _placed()
    (wanted,) = agent.sync().attempts
    for step in (5, 3):
        agent.running(wanted, progress_step=step, checkpoint_step=step, checkpoint_age_s=1.0)
        agent.sync()

    assert Job.objects.get().work_done == 5
    assert Part.objects.get().progress_step == 5


def test_what_an_agent_no_longer_knows_is_not_started_again_but_given_up_in_time() -> None:
    agent, job = _placed()
    (wanted,) = agent.sync().attempts
    agent.running(wanted)
    assert agent.sync().attempts == (wanted,)

    agent.reports.clear()
    assert agent.sync().attempts == ()
    assert Part.objects.get().unreported_at == NOW
    _watch(agent, until_s=909)
    assert Allocation.objects.filter(released_at=None).count() == 1

    _watch(agent, from_s=909, until_s=915)
    job.refresh_from_db()
    assert (job.state, job.reason) == ("queued", "node_lost")
    assert Allocation.objects.filter(released_at=None).count() == 0


def test_what_is_spoken_of_again_was_only_left_out() -> None:
    agent, _ = _placed()
    (wanted,) = agent.sync().attempts
    agent.running(wanted)
    agent.sync()
    agent.reports.clear()
    agent.sync()

    agent.running(wanted)

    assert agent.sync().attempts == (wanted,)
    assert Part.objects.get().unreported_at is None


def _watch(agent: Agent, *, from_s: int = 0, until_s: int) -> None:
    """The node goes on speaking, and we go on watching."""
    for second in range(from_s, until_s + 1, 3):
        at = NOW + timedelta(seconds=second)
        agent.sync(now=at)
        watch_nodes(now=at)
