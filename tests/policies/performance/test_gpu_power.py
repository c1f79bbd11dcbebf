"""Watts and joules, by hand; caps are kept and more clock never draws less."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.performance.gpu_power import PowerModel
from policies.performance.throughput import ThroughputModel
from tests.examples import examples

MODEL = PowerModel(
    p0=50, p1=20, p2=1, p3=100, q0=40, q1=10, idle_w=30, max_w=175, reference_mhz=1000,
    lowest_mhz=200,
)  # fmt: skip
many = settings(max_examples=examples(100), deadline=None, database=None, derandomize=True)
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


def test_the_clock_under_a_cap_by_hand() -> None:
    cubic = PowerModel(p0=50, p3=100, max_w=150, reference_mhz=1000, lowest_mhz=200)
    assert cubic.clock_under_cap(50 + 100 * 0.5**3) == pytest.approx(500)
    assert cubic.clock_under_cap(150) == 1000
    assert cubic.clock_under_cap(10) == 200, "a GPU stops at its lowest clock"


def test_an_iterations_joules_by_hand() -> None:
    throughput = ThroughputModel(alpha0=1, alpha2=2, beta0=0.5, gamma=1, reference_mhz=1000)
    compute_s, waits_s = 1 + 2 * 2, 0.5
    expected = 2 * ((50 + 24 * 0.5 + 12.5) * compute_s + 45 * waits_s)
    assert MODEL.iteration_j(throughput, 2, 500, 4) == pytest.approx(expected)


def test_the_most_efficient_clock_by_hand() -> None:
    """p0/x + p3*x^2 has its least where x^3 = p0 / (2*p3)."""
    power = PowerModel(p0=50, p3=200, reference_mhz=1000)
    throughput = ThroughputModel(alpha2=1, reference_mhz=1000)
    clocks = np.arange(100, 1001)
    assert power.most_efficient_clock(throughput, 1, clocks) == 500
    never_slower = ThroughputModel(alpha0=1, reference_mhz=1000)
    assert power.most_efficient_clock(never_slower, 1, clocks) == 100


@many
@given(model=models(), cap_w=st.floats(1, 1000), batch=st.floats(0, 64))
def test_a_cap_is_kept(model: PowerModel, cap_w: float, batch: float) -> None:
    clock = float(model.clock_under_cap(cap_w, batch))
    assert 200 <= clock <= 1000
    if clock > 200:
        assert model.computing_w(clock, batch) <= cap_w * (1 + 1e-9)
    if clock < 1000:
        assert model.computing_w(min(clock * 1.001, 1000), batch) >= cap_w * (1 - 1e-9)


@many
@given(model=models(), low=st.floats(200, 1000), high=st.floats(200, 1000), busy=st.floats(0, 1))
def test_more_clock_never_draws_less(
    model: PowerModel, low: float, high: float, busy: float
) -> None:
    less, more = model.watts(np.array([min(low, high), max(low, high)]), 1, busy)
    assert less <= more * (1 + 1e-12)
    assert less >= 30
    assert more <= model.max_w * (1 + 1e-12)
