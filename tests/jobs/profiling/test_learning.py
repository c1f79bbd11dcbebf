"""Attempts teach their profile: weighted, without outliers, and a change is noticed and said."""

from datetime import timedelta

import pytest

from clusters.models import GpuType
from jobs.models import Attempt, Job, Part, Profile, ProfileFit, ProfilePoint
from jobs.profiling.fits import fits_due, profile_fit
from jobs.profiling.learning import EVERY, KEPT, attempts_learn
from scheduler_service.factories import (
    NOW,
    add_points,
    make_cluster,
    make_gpu_type,
    make_jobs,
    make_nodes,
    make_profile,
    make_tenant,
)
from scheduling.round import run_round
from scheduling.snapshot.load import load_snapshot

pytestmark = pytest.mark.django_db


class Shop:
    """Attempts of one profile on one GPU each; what they report is written to their parts."""

    def __init__(self) -> None:
        self.cluster, self.tenant = make_cluster(), make_tenant()
        make_nodes(self.cluster, make_gpu_type("A100", clocks_mhz=[705, 1410]), 4)
        self.profile = make_profile(self.tenant, "resnet")

    def attempt(self, steps_per_s: float, *, lasted_s: float = 60, ended: bool = True) -> Attempt:
        (job,) = make_jobs(self.cluster, self.tenant, 1, profile=self.profile, cpus_per_gpu=4)
        run_round(self.cluster.pk, now=NOW)
        attempt = Attempt.objects.get(job__in=Job.objects.filter(pk=job.pk))
        node = attempt.allocation_set.get().node
        Part.objects.create(
            tenant=self.tenant,
            attempt=attempt,
            node=node,
            fetched_at=NOW,
            state=Part.State.ENDED if ended else Part.State.RUNNING,
            ended_at=NOW if ended else None,
            progress_step=1000,
            speed_steps=round(steps_per_s * lasted_s),
            speed_s=lasted_s,
            speed_mj=int(300_000 * lasted_s),
            speed_mj_s=lasted_s,
            speed_cpus=4,
        )
        return attempt

    def learned(self, now_s: float = 1) -> list[tuple[float, bool]]:
        """Speed and acceptance of what is learned, the oldest attempt first."""
        attempts_learn(now=NOW + timedelta(seconds=now_s))
        fits_due(now=NOW + timedelta(seconds=now_s + 1))
        rows = ProfilePoint.objects.filter(source="learned").order_by("attempt_id")
        self.profile.refresh_from_db()
        return [(round(row.steps_per_s, 3), row.accepted) for row in rows]


@pytest.fixture
def shop() -> Shop:
    return Shop()


def test_what_an_attempt_did_becomes_a_point(shop: Shop) -> None:
    attempt = shop.attempt(5.0, lasted_s=120)
    assert shop.learned() == [(5.0, True)]
    point = ProfilePoint.objects.get()
    assert (point.gpu_type, point.gpus, point.clock_mhz) == ("A100", 1, None)
    assert (point.cpus_per_gpu, point.watts_per_gpu, point.weight) == (4, 300, 36.0)
    assert (point.attempt_id, point.memory_mib_per_gpu) == (attempt.pk, 1024)
    assert (shop.profile.basis, shop.profile.version) == ("fitted", 1)
    assert ProfileFit.objects.get().cause == "learned"
    assert shop.learned(now_s=5) == [(5.0, True)]
    assert ProfileFit.objects.count() == 1


@pytest.mark.parametrize(("steps_per_s", "lasted_s"), [(0.1, 60), (5.0, 9)])
def test_too_short_to_learn_from(shop: Shop, steps_per_s: float, lasted_s: float) -> None:
    shop.attempt(steps_per_s, lasted_s=lasted_s)
    assert shop.learned() == []
    assert shop.profile.basis == "neutral"


def test_a_running_attempt_is_looked_at_every_minute(shop: Shop) -> None:
    shop.attempt(5.0, ended=False)
    shop.learned()
    Part.objects.update(speed_steps=600, speed_s=100)
    assert shop.learned(now_s=EVERY.total_seconds() - 5) == [(5.0, True)]
    assert shop.learned(now_s=EVERY.total_seconds() + 5) == [(6.0, True)]
    Part.objects.update(state="ended", ended_at=NOW + timedelta(seconds=80), speed_steps=700)
    assert shop.learned(now_s=81) == [(7.0, True)]


def test_one_odd_attempt_is_not_believed(shop: Shop) -> None:
    shop.attempt(5.0)
    shop.learned()
    shop.attempt(1.0)
    assert shop.learned(now_s=10) == [(5.0, True), (1.0, False)]
    assert shop.profile.drift == ""
    assert ProfileFit.objects.order_by("-number").values_list("points", flat=True)[0] == 1


def test_three_in_a_row_mean_that_the_program_has_changed(shop: Shop) -> None:
    shop.attempt(5.0)
    shop.learned()
    for turn in range(3):
        shop.attempt(2.5)
        told = shop.learned(now_s=10 * (turn + 1))
    assert told == [(5.0, True), (2.5, True), (2.5, True), (2.5, True)]
    assert shop.profile.drift == "The last 3 attempts were 50% slower than what was known."
    assert shop.profile.drift_at is not None
    oldest = ProfilePoint.objects.order_by("attempt_id").first()
    assert oldest is not None
    assert oldest.weight == pytest.approx(18 * 0.05)
    shop.attempt(2.5)
    assert shop.learned(now_s=60)[-1] == (2.5, True)


def test_the_oldest_are_forgotten(shop: Shop) -> None:
    point = {"gpu_type": "A100", "gpus": 1, "steps_per_s": 5.0, "source": "learned"}
    add_points(
        shop.profile,
        [{**point, "measured_at": NOW - timedelta(days=day)} for day in range(KEPT + 5)],
    )
    shop.attempt(5.0)
    shop.learned()
    kept = ProfilePoint.objects.filter(source="learned").order_by("measured_at")
    assert len(kept) == KEPT
    assert kept[0].measured_at == NOW - timedelta(days=KEPT - 2)


def test_a_fit_that_makes_no_sense_leaves_the_last_version(shop: Shop) -> None:
    """Nobody asked for it, so the profile says why."""
    add_points(
        shop.profile, [{"gpu_type": "A100", "gpus": n, "steps_per_s": 5.0 * n} for n in (1, 2)]
    )
    profile_fit(shop.profile.pk, cause=ProfileFit.Cause.ASKED, now=NOW)
    add_points(shop.profile, [{"gpu_type": "A100", "gpus": 4, "steps_per_s": 20_000.0}])
    Profile.objects.update(fit_due=True)
    fits_due(now=NOW)
    shop.profile.refresh_from_db()
    assert "The point of 4 A100" in shop.profile.fit_refused
    assert "another unit" in shop.profile.fit_refused
    assert (shop.profile.basis, shop.profile.fit_due) == ("fitted", False)
    assert ProfileFit.objects.count() == 1


def test_what_is_left_is_reckoned_from_the_speed_that_is_measured(shop: Shop) -> None:
    """The tenant thought of an hour; at 5 steps a second 900 of 1000 take three minutes."""
    attempt = shop.attempt(5.0, ended=False)
    Job.objects.update(work_total=1000, work_done=100, estimated_run_s=3600)
    Attempt.objects.update(state="running", started_at=NOW)
    Job.objects.filter(pk=attempt.job_id).update(state="running", started_at=NOW)
    assert load_snapshot(shop.cluster, now=NOW, seed=1).jobs.est_run_s.tolist() == [180]


def test_what_waits_is_reckoned_from_its_profile(shop: Shop) -> None:
    make_jobs(shop.cluster, shop.tenant, 1, profile=shop.profile, work_total=1000)
    make_jobs(shop.cluster, shop.tenant, 1, work_total=1000, estimated_run_s=60)
    unknown = load_snapshot(shop.cluster, now=NOW, seed=1).jobs
    assert unknown.profile.tolist() == [-1, -1]
    assert str(unknown.est_run_s.tolist()) == "[nan, 60.0]"
    add_points(shop.profile, [{"gpu_type": "A100", "gpus": 1, "steps_per_s": 4.0}])
    Profile.objects.update(revision=1)
    known = load_snapshot(shop.cluster, now=NOW, seed=1).jobs
    assert known.est_run_s.tolist() == [250, 60]
    assert known.est_total_s.tolist() == [250, 60]
    GpuType.objects.create(name="V100", memory_mib=1, idle_w=1, max_w=2)
    Job.objects.filter(profile=shop.profile).update(gpu_types=["V100"])
    elsewhere = load_snapshot(shop.cluster, now=NOW, seed=1).jobs
    assert str(elsewhere.est_run_s.tolist()) == "[nan, 60.0]"
