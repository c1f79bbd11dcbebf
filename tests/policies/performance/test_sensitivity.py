"""CPU and memory sensitivity, by hand: the longest of computing, preprocessing and fetching."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.performance.points import FitRefused, Point
from policies.performance.sensitivity import Sensitivity, demand
from policies.performance.sensitivity_fit import fit_sensitivity
from tests.examples import examples

# Two CPUs preprocess a batch in 0.5 s, four in 0.25 s, where the GPU's 0.25 s begin to bind; the
# data set has 1000 MiB, and a batch of 100 MiB takes 1 s from storage.
JOB = Sensitivity.of_curve(
    [2, 4, 8],
    [2.0, 4.0, 4.0],
    dataset_mib=1000,
    batch_mib=100,
    storage_mib_per_s=100,
    reference_cpus=2,
    reference_mem_mib=1000,
)
many = settings(max_examples=examples(100), deadline=None, database=None, derandomize=True)


@pytest.mark.parametrize(
    ("cpus", "mem_mib", "batch_s"),
    [
        (2, 1000, 0.5),
        (1, 1000, 1.0),
        (3, 1000, 1 / 3),
        (8, 1000, 0.25),
        (8, 2000, 0.25),
        (8, 500, 0.5),
        (8, 0, 1.0),
        (1, 500, 1.0),
    ],
)
def test_seconds_of_a_batch(cpus: float, mem_mib: float, batch_s: float) -> None:
    assert JOB.batch_s(cpus, mem_mib) == pytest.approx(batch_s)


def test_the_matrix_is_relative_to_the_reference() -> None:
    matrix = JOB.matrix([1, 2, 4], [500, 750, 1000])
    assert matrix.tolist() == [[0.5, 0.5, 0.5], [1.0, 1.0, 1.0], [1.0, 2.0, 2.0]]


def test_demand_is_the_least_that_reaches_the_best_speed() -> None:
    cpus, memory = [1, 2, 4, 8], [500, 750, 1000]
    assert demand(JOB.matrix(cpus, memory), cpus, memory) == (4, 750)
    insensitive = Sensitivity.of_curve([1, 8], [1.0, 1.0], reference_cpus=1)
    assert demand(insensitive.matrix(cpus, memory), cpus, memory) == (1, 500)


def test_too_little_memory_starves() -> None:
    starved = replace(JOB, least_mem_mib=600, starved_speed=0.1)
    assert starved.relative_speed(8, 599) == pytest.approx(0.1)
    assert starved.relative_speed(8, 750) == pytest.approx(2)


@many
@given(
    cpus=st.lists(st.floats(0.5, 32), min_size=2, max_size=2),
    mem=st.lists(st.floats(0, 2000), min_size=2, max_size=2),
)
def test_more_never_slows_down(cpus: list[float], mem: list[float]) -> None:
    less = JOB.relative_speed(min(cpus), min(mem))
    assert less <= JOB.relative_speed(max(cpus), max(mem)) * (1 + 1e-12)


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
