"""What is known of profiles reaches the policies, in as many queries for many as for few."""

import numpy as np
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.models import Attempt, Profile, ProfileFit
from jobs.profiling import knowledge
from jobs.profiling.fits import profile_fit
from policies.contract.snapshot import Snapshot
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
from scheduling.snapshot.profile_tensors import CPUS, MEM_MIB
from tests.jobs.profiling.test_assembly import swept, true_speed, true_watts

pytestmark = pytest.mark.django_db
CLOCKS = [210, 510, 660, 810, 960, 1110, 1260, 1410]


def fitted(tenant: object, name: str) -> Profile:
    profile = make_profile(tenant, name)  # type: ignore[arg-type]
    add_points(
        profile,
        [
            {
                "gpu_type": "A100",
                "gpus": 1,
                "clock_mhz": int(one.point.clock_mhz),
                "cpus_per_gpu": one.point.cpus_per_gpu,
                "steps_per_s": one.point.steps_per_s,
                "watts_per_gpu": one.point.watts_per_gpu,
                "weight": 9,
            }
            for one in swept()
        ],
    )
    profile_fit(profile.pk, cause=ProfileFit.Cause.ASKED, now=NOW)
    return profile


def loaded(profiles: int) -> tuple[Snapshot, int]:
    """With one job of each profile, as a process sees it that has just started."""
    cluster, tenant = make_cluster(f"c{profiles}"), make_tenant(f"t{profiles}")
    for number in range(profiles):
        make_jobs(cluster, tenant, 1, profile=fitted(tenant, f"p{number}"), work_total=1000)
    knowledge._CACHE.clear()
    with CaptureQueriesContext(connection) as queries:
        snapshot = load_snapshot(cluster, now=NOW, seed=1)
    return snapshot, len(queries)


def test_models_fill_the_table_and_speed_over_cpus_stands_beside_it() -> None:
    make_gpu_type("A100", clocks_mhz=CLOCKS)
    snapshot, _ = loaded(1)
    table = snapshot.profiles
    assert table.gpu_counts.tolist() == [1]
    assert table.throughput[0, 0, 0] == pytest.approx(
        [true_speed(1, clock, 32) for clock in CLOCKS], rel=0.02
    )
    assert table.watts_per_gpu[0, 0, 0] == pytest.approx(
        [true_watts(1, clock) for clock in CLOCKS], rel=0.02
    )
    assert table.cpus_per_gpu.tolist() == list(CPUS)
    assert table.mem_mib_per_gpu.tolist() == list(MEM_MIB)
    relative = [true_speed(1, 1410, cpus) / true_speed(1, 1410, 32) for cpus in CPUS]
    assert table.relative_speed[0, :, 0] == pytest.approx(relative, rel=0.03)
    assert np.ptp(table.relative_speed[0], axis=1).max() == 0
    assert snapshot.jobs.est_run_s.tolist() == pytest.approx([100], rel=0.01)


@pytest.mark.slow
def test_as_many_queries_for_many_profiles_as_for_few() -> None:
    make_gpu_type("A100", clocks_mhz=CLOCKS)
    (few, queries), (many, as_many) = loaded(2), loaded(12)
    assert (len(few.profiles), len(many.profiles)) == (2, 12)
    assert as_many == queries
    with CaptureQueriesContext(connection) as again:
        load_snapshot(make_cluster("other"), now=NOW, seed=1)
    assert len(again) < queries


def test_what_is_learned_is_seen_by_the_next_round() -> None:
    make_gpu_type("A100", clocks_mhz=CLOCKS)
    snapshot, _ = loaded(1)
    profile = Profile.objects.get()
    add_points(profile, [{"gpu_type": "A100", "gpus": 1, "steps_per_s": 20.0, "weight": 1e4}])
    profile_fit(profile.pk, cause=ProfileFit.Cause.LEARNED, now=NOW)
    cluster = snapshot.jobs
    again = load_snapshot(profile.job_set.get().cluster, now=NOW, seed=1)
    assert cluster.est_run_s[0] == pytest.approx(100, rel=0.01)
    assert again.jobs.est_run_s[0] == pytest.approx(50, rel=0.05)


def test_a_prediction_is_of_the_clock_and_cpus_that_were_given() -> None:
    """Two CPUs for its GPU: 1000 steps at the speed that they allow, at the highest clock."""
    cluster, tenant = make_cluster(), make_tenant()
    make_nodes(cluster, make_gpu_type("A100", clocks_mhz=CLOCKS), 1)
    profile = fitted(tenant, "p")
    make_jobs(cluster, tenant, 1, profile=profile, work_total=1000, cpus_per_gpu=2)
    run_round(cluster.pk, now=NOW)
    attempt = Attempt.objects.get()
    expected_mj = 1000 * true_watts(1, 1410, 2) * 1000 / true_speed(1, 1410, 2)
    assert attempt.predicted_by == "profile"
    assert attempt.predicted_gpu_mj == pytest.approx(expected_mj, rel=0.03)
