"""A profiling run waits for its turn, is steered through its sweep, and leaves a fitted profile."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.conf import LazySettings

from agent.wire import DesiredAttempt, Speed
from clusters.models import Cluster, GpuType
from jobs.models import Attempt, Job, Profile, ProfilePoint, ProfilingRun
from jobs.profiling.runs import places, profiling_runs_advance
from jobs.services import job_cancel, job_submit, profiling_create
from jobs.specs import JobSpec, ProfilingSpec
from scheduler_service.factories import NOW, make_cluster, make_profile, make_tenant
from scheduling.round import run_round
from tenancy.callers import SYSTEM
from tests.engines.agents.nodes import Agent, join
from tests.jobs.profiling.test_assembly import true_speed, true_watts

pytestmark = pytest.mark.django_db
CLOCKS = [705, 1065, 1410]


class Stage:
    """A node whose agent does what it is told, at once, and goes as fast as the formula says."""

    def __init__(self) -> None:
        self.cluster = make_cluster()
        self.tenant = make_tenant()
        self.agent: Agent = join(self.cluster, "node-1")
        GpuType.objects.update(clocks_mhz=CLOCKS)
        self.profile = make_profile(self.tenant, "emulated")
        self.now: datetime = NOW
        self.steps = 0
        self.configurations: list[tuple[int | None, int]] = []

    def ask(self, profile: Profile | None = None, **fields: Any) -> ProfilingRun:
        spec = ProfilingSpec(cluster="c", argv=["train"], cpus=8, memory_mib=1024, **fields)
        return profiling_create(
            caller=SYSTEM, profile=profile or self.profile, spec=spec, now=self.now
        )

    def second(self, seconds: float = 1) -> tuple[DesiredAttempt, ...]:
        """What the beat and the node do in a second."""
        self.now += timedelta(seconds=seconds)
        profiling_runs_advance(now=self.now)
        run_round(self.cluster.pk, now=self.now)
        return self.agent.sync(now=self.now).attempts

    def works(self, attempt: DesiredAttempt) -> None:
        """Report a measurement of what it is set to just now."""
        at = (attempt.clock_mhz or CLOCKS[-1], attempt.cpus)
        if at not in self.configurations:
            self.configurations.append(at)
        per_s = true_speed(1, *at)
        self.steps += round(per_s * 100)
        speed = Speed(
            steps=round(per_s * 100),
            steps_s=100.0,
            energy_mj=int(true_watts(1, *at) * 100_000),
            energy_s=100.0,
            clock_mhz=attempt.clock_mhz,
            cpus=attempt.cpus,
        )
        self.agent.running(attempt, progress_step=self.steps, speed=speed)


@pytest.fixture
def stage() -> Stage:
    return Stage()


def test_it_is_steered_through_its_sweep_and_then_stopped(stage: Stage) -> None:
    run = stage.ask()
    job = Job.objects.get(pk=run.job_id)
    assert (job.held, job.preemptible, job.cpus_per_gpu) == (True, False, 8)
    for _ in range(60):
        for attempt in stage.second():
            stage.works(attempt)
        run.refresh_from_db()
        if run.ended_at:
            break
    assert (run.state, run.detail) == ("succeeded", "")
    assert stage.configurations[0] == (1410, 8)
    assert {cpus for mhz, cpus in stage.configurations if mhz == 1410} >= {8, 1, 4, 6}
    assert {mhz for mhz, cpus in stage.configurations if cpus == 8} == set(CLOCKS)
    stage.profile.refresh_from_db()
    assert stage.profile.basis == "fitted"
    points = ProfilePoint.objects.filter(profile=stage.profile)
    assert {point.source for point in points} == {"profiling"}
    assert len(points) == len(run.measured) == len(stage.configurations)
    attempt_row = Attempt.objects.get()
    assert (attempt_row.state, attempt_row.reason) == ("stopping", "cancel_requested")


def test_a_bounded_share_of_the_cluster(stage: Stage, settings: LazySettings) -> None:
    """Four GPUs: a tenth of them is none, but one run may always go."""
    assert places(stage.cluster.pk) == 1
    settings.PROFILING_SHARE = 0.5
    assert places(stage.cluster.pk) == 2
    settings.PROFILING_SHARE = 0.1
    other = make_profile(stage.tenant, "other")
    first, second = stage.ask(), stage.ask(other)
    (attempt,) = stage.second()
    states = dict(ProfilingRun.objects.values_list("pk", "state"))
    assert states == {first.pk: "admitted", second.pk: "waiting"}
    assert Job.objects.get(pk=second.job_id).held
    job_cancel(caller=SYSTEM, job_id=first.job_id, now=stage.now)
    stage.agent.ended(attempt, exit_code=143)
    for _ in range(3):
        stage.second()
    assert ProfilingRun.objects.get(pk=first.pk).state == "failed"
    assert ProfilingRun.objects.get(pk=second.pk).state == "admitted"


def test_asking_again_returns_the_run_under_way(stage: Stage) -> None:
    assert stage.ask().pk == stage.ask().pk
    assert Job.objects.count() == 1


def test_a_program_that_says_nothing_fails_the_run(stage: Stage) -> None:
    run = stage.ask()
    for _ in range(12):
        for attempt in stage.second(seconds=100):
            stage.agent.running(attempt)
    run.refresh_from_db()
    assert run.state == "failed"
    assert "does the program report its steps?" in run.detail
    assert not ProfilePoint.objects.exists()


def test_a_program_that_ends_early_leaves_what_it_showed(stage: Stage) -> None:
    run = stage.ask()
    for turn in range(12):
        for attempt in stage.second():
            if turn < 8:
                stage.works(attempt)
            else:
                stage.agent.ended(attempt, exit_code=0)
    run.refresh_from_db()
    assert "before all was measured" in run.detail
    assert ProfilePoint.objects.count() == len(run.measured) > 0


def test_a_job_of_an_unknown_kind_is_measured_first(stage: Stage) -> None:
    spec = JobSpec(
        name="real", cluster="c", tenant="acme", argv=["train"], profile="emulated",
        profile_first=True,
    )  # fmt: skip
    job = job_submit(caller=SYSTEM, spec=spec, now=NOW)
    run = ProfilingRun.objects.get()
    assert job.unmet_dependencies == 1
    assert job.depends_on.get().on_job_id == run.job_id
    Profile.objects.update(basis=Profile.Basis.FITTED)
    again = job_submit(caller=SYSTEM, spec=spec, now=NOW)
    assert again.unmet_dependencies == 0
    assert ProfilingRun.objects.count() == 1


def test_where_nobody_says_how_many_half_a_node_is_tried(stage: Stage) -> None:
    spec = ProfilingSpec(cluster="c", argv=["train"])
    run = profiling_create(caller=SYSTEM, profile=stage.profile, spec=spec, now=NOW)
    job = Job.objects.get(pk=run.job_id)
    assert (job.cpus_per_gpu, job.memory_mib_per_gpu) == (32, 32_768)
    assert Cluster.objects.count() == 1
