"""Watts, by hand; more clock never draws less."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.profiling.performance.gpu_power import PowerModel
from tests.examples import examples

MODEL = PowerModel(
    p0=50, p1=20, p2=1, p3=100, q0=40, q1=10, idle_w=30, max_w=175, reference_mhz=1000,
    lowest_mhz=200,
)  # fmt: skip
many = settings(max_examples=examples(100))
watts = st.floats(0, 300)


@st.composite
def models(draw: st.DrawFn) -> PowerModel:
    return PowerModel(
        p0=draw(watts), p1=draw(watts), p2=draw(st.floats(0, 2)), p3=draw(watts), q0=draw(watts),
        q1=draw(watts), idle_w=30, max_w=draw(st.floats(100, 900)), reference_mhz=1000,
        lowest_mhz=200,
    )  # fmt: skip


def test_watts_by_hand() -> None:
    assert MODEL.computing_w(500, 4) == pytest.approx(50 + 24 * 0.5 + 100 / 8)
    assert MODEL.waiting_w(500) == pytest.approx(45)
    assert MODEL.watts(500, 4, busy=0.75) == pytest.approx(0.75 * 74.5 + 0.25 * 45)
    assert MODEL.computing_w(1000, 10) == 175, "never above the most"
    assert PowerModel(p0=5, idle_w=30).computing_w() == 30, "never below idle"


@many
@given(model=models(), low=st.floats(200, 1000), high=st.floats(200, 1000), busy=st.floats(0, 1))
def test_more_clock_never_draws_less(
    model: PowerModel, low: float, high: float, busy: float
) -> None:
    less, more = model.watts(np.array([min(low, high), max(low, high)]), 1, busy)
    assert less <= more * (1 + 1e-12)
    assert less >= 30
    assert more <= model.max_w * (1 + 1e-12)
