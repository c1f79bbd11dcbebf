"""Seconds of an iteration, by hand, and what more clock or more GPUs may do to it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.profiling.performance.throughput import ThroughputModel
from tests.examples import examples

MODEL = ThroughputModel(
    alpha0=0.1, alpha1=0.01, alpha2=0.2, alpha3=0.02, beta0=0.3, beta1=0.05, beta2=0.6, beta3=0.01,
    gamma=1.0, reference_mhz=1000, gpus_per_node=8,
)  # fmt: skip
some = st.floats(0.001, 10)
many = settings(max_examples=examples(100))


@st.composite
def models(draw: st.DrawFn) -> ThroughputModel:
    names = [f"alpha{i}" for i in range(4)] + [f"beta{i}" for i in range(4)]
    parameters = {name: draw(some) for name in names}
    return ThroughputModel(**parameters, gamma=draw(st.floats(1, 10)), reference_mhz=1000)


@pytest.mark.parametrize(
    ("clock_mhz", "batch", "compute_s"),
    [
        (1000, 10, 0.1 + 0.1 + 0.2 + 0.2),
        (500, 10, 0.1 + 0.1 + 2 * (0.2 + 0.2)),
        (0, 0, 0.1 + 0.2),
    ],
)
def test_compute(clock_mhz: float, batch: float, compute_s: float) -> None:
    assert MODEL.compute_s(clock_mhz, batch) == pytest.approx(compute_s)


@pytest.mark.parametrize(
    ("gpus", "sync_s"), [(1, 0), (2, 0.3), (8, 0.3 + 6 * 0.05), (9, 0.6 + 7 * 0.01), (16, 0.74)]
)
def test_sync(gpus: int, sync_s: float) -> None:
    assert MODEL.sync_s(gpus) == pytest.approx(sync_s)


def test_iteration_adds_up_or_overlaps() -> None:
    assert MODEL.iteration_s(2, 1000, 10) == pytest.approx(0.6 + 0.3)
    square = ThroughputModel(alpha0=3, beta0=4, gamma=2)
    assert square.iteration_s(2) == pytest.approx(5)
    assert square.steps_per_s(2) == pytest.approx(0.2)
    assert square.busy_share(2) == pytest.approx(0.6)
    assert square.busy_share(1) == 1


def test_arrays_broadcast() -> None:
    found = MODEL.iteration_s(np.array([1, 2, 16])[:, None], np.array([500, 1000])[None, :], 10)
    assert found.shape == (3, 2)
    assert found[1, 1] == MODEL.iteration_s(2, 1000, 10)


@many
@given(model=models(), gpus=st.integers(1, 64), batch=st.floats(0, 100), low=st.floats(1, 999))
def test_a_higher_clock_is_never_slower(
    model: ThroughputModel, gpus: int, batch: float, low: float
) -> None:
    slow, fast = model.iteration_s(gpus, np.array([low, 1000]), batch)
    assert fast <= slow * (1 + 1e-12)


@many
@given(model=models(), gpus=st.integers(1, 64), batch=st.floats(0, 100))
def test_an_iteration_lies_between_its_longer_part_and_the_sum(
    model: ThroughputModel, gpus: int, batch: float
) -> None:
    compute, sync = float(model.compute_s(0, batch)), float(model.sync_s(gpus))
    whole = float(model.iteration_s(gpus, 0, batch))
    assert max(compute, sync) <= whole * (1 + 1e-12)
    assert whole <= (compute + sync) * (1 + 1e-12)
