"""CPU and memory sensitivity, by hand: the longest of computing, preprocessing and fetching."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.profiling.performance.sensitivity import Sensitivity
from tests.examples import examples

# Two CPUs preprocess a batch in 0.5 s, four in 0.25 s, where the GPU's 0.25 s begin to bind; the
# data set has 1000 MiB, and a batch of 100 MiB takes 1 s from storage.
JOB = Sensitivity.of_curve(
    [2, 4, 8],
    [2.0, 4.0, 4.0],
    reference_cpus=2,
    reference_mem_mib=1000,
    fetch_s=1.0,
    dataset_mib=1000,
)
many = settings(max_examples=examples(100))


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
