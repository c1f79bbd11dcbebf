"""The curve over CPUs, and the cache behind it, found again from points."""

import pytest

from jobs.profiling.fitting.problems import FitRefused
from jobs.profiling.fitting.sensitivity import fit_sensitivity
from jobs.profiling.performance.points import Point
from jobs.profiling.performance.sensitivity import Sensitivity
from tests.jobs.profiling.performance.test_sensitivity import JOB


def points_of(job: Sensitivity, cpus: list[float], memory: list[float]) -> list[Point]:
    return [
        Point(
            gpus=1,
            steps_per_s=1 / float(job.batch_s(c, m)),
            cpus_per_gpu=c,
            mem_mib_per_gpu=m,
        )
        for c in cpus
        for m in memory
    ]


def test_a_fit_finds_curve_and_cache() -> None:
    points = points_of(JOB, [1, 2, 4, 8], [250, 500, 1000])
    fit = fit_sensitivity(points, reference_cpus=2, reference_mem_mib=1000)
    assert fit.worst_error < 0.01
    assert fit.model.relative_speed(8, 750) == pytest.approx(2, rel=0.02)
    assert fit.parameters["dataset_mib"] == pytest.approx(1000, rel=0.05)


def test_memory_is_derived_where_it_was_not_swept() -> None:
    points = points_of(JOB, [1, 2, 4, 8], [1000])
    fit = fit_sensitivity(points, reference_cpus=2, dataset_mib=1000, fetch_s=1.0)
    assert fit.model.relative_speed(8, 500) == pytest.approx(1)
    assert "derived from the data set" in fit.notes[0].message


def test_points_must_tell_their_cpus() -> None:
    with pytest.raises(FitRefused) as refused:
        fit_sensitivity([Point(gpus=1, steps_per_s=1)], reference_cpus=1)
    assert refused.value.problems[0].pointer == "/points/0/cpus_per_gpu"
