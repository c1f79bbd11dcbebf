"""A cap holds the clock, the clock the time: by hand, and found again from points."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.profiling.fitting.problems import FitRefused
from jobs.profiling.performance.gpu_power import PowerModel
from lab.calibration.capping import CappedModel, CapPoint, clock_under_cap, fit_capped
from tests.jobs.profiling.performance.test_gpu_power import many, models

TRUE = CappedModel(
    compute_s=8, wait_s=2, power=PowerModel(p0=50, p3=200, q0=70, max_w=250, lowest_mhz=0.1)
)
CAPS = [75, 100, 125, 150, 175, 200, 225, 250]


def points_of(model: CappedModel) -> list[CapPoint]:
    return [
        CapPoint(
            cap_w=cap,
            iteration_s=float(model.iteration_s(cap)),
            watts=float(model.watts(cap)),
        )
        for cap in CAPS
    ]


def test_by_hand() -> None:
    cap_w = 50 + 200 * 0.5**3
    assert TRUE.clock(cap_w) == pytest.approx(0.5)
    assert TRUE.iteration_s(cap_w) == pytest.approx(2 + 16)
    assert TRUE.iteration_j(cap_w) == pytest.approx(75 * 16 + 70 * 2)
    assert TRUE.watts(cap_w) == pytest.approx((75 * 16 + 70 * 2) / 18)
    assert TRUE.clock_bound == pytest.approx(0.8)


def test_the_best_cap_by_hand() -> None:
    """50/x + 200*x^2 has its least at x = 0.5, which 75 W allow."""
    assert TRUE.best_cap(CAPS) == 75
    assert TRUE.best_cap([100, 150, 250]) == 100


def test_where_no_cap_binds_the_lowest_is_best() -> None:
    light = CappedModel(compute_s=1, wait_s=9, power=PowerModel(p0=30, p3=20, q0=30))
    assert light.best_cap(CAPS) == 75


def test_a_fit_finds_the_model_and_what_it_has_not_seen() -> None:
    points = points_of(TRUE)
    fit = fit_capped([p for p in points if p.cap_w != 125], idle_w=40, max_w=250)
    assert fit.worst_error < 0.01
    assert fit.model.iteration_j(125) == pytest.approx(TRUE.iteration_j(125), rel=0.02)
    assert fit.model.best_cap(CAPS) in (75, 100)


def test_a_cap_is_never_faster_or_hungrier_than_a_higher_one() -> None:
    fit = fit_capped(points_of(TRUE), idle_w=40, max_w=250)
    caps = np.linspace(60, 300, 50)
    assert (np.diff(fit.model.iteration_s(caps)) <= 1e-9).all()
    assert (np.diff(fit.model.watts(caps)) >= -1e-9).all()


@pytest.mark.parametrize("watts", [0.0, float("nan"), -5.0])
def test_what_was_not_measured_is_refused(watts: float) -> None:
    points = [CapPoint(cap_w=100, iteration_s=1, watts=watts)]
    with pytest.raises(FitRefused) as refused:
        fit_capped(points)
    assert refused.value.problems[0].pointer == "/points/0/watts"


def test_the_clock_under_a_cap_by_hand() -> None:
    cubic = PowerModel(p0=50, p3=100, max_w=150, reference_mhz=1000, lowest_mhz=200)
    assert clock_under_cap(cubic, 50 + 100 * 0.5**3) == pytest.approx(500)
    assert clock_under_cap(cubic, 150) == 1000
    assert clock_under_cap(cubic, 10) == 200, "a GPU stops at its lowest clock"


@many
@given(model=models(), cap_w=st.floats(1, 1000))
def test_a_cap_is_kept(model: PowerModel, cap_w: float) -> None:
    clock = float(clock_under_cap(model, cap_w))
    assert 200 <= clock <= 1000
    if clock > 200:
        assert model.computing_w(clock) <= cap_w * (1 + 1e-9)
    if clock < 1000:
        assert model.computing_w(min(clock * 1.001, 1000)) >= cap_w * (1 - 1e-9)
