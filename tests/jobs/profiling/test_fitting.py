"""Fits find the model that made the points, and refuse what no model should be made of."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from jobs.profiling.fitting.behaviour import GpuLimits, fit_behaviour, fit_power, fit_throughput
from jobs.profiling.fitting.problems import FitRefused
from jobs.profiling.performance.application import Application
from jobs.profiling.performance.gpu_power import PowerModel
from jobs.profiling.performance.points import Point
from jobs.profiling.performance.throughput import ThroughputModel

TRUE = ThroughputModel(
    alpha0=0.02, alpha1=0.001, alpha2=0.03, alpha3=0.004, beta0=0.03, beta1=0.004, beta2=0.09,
    beta3=0.001, gamma=1.5, reference_mhz=1410, gpus_per_node=8,
)  # fmt: skip
POWER = PowerModel(
    p0=90, p1=50, p3=240, q0=90, q1=25, idle_w=50, max_w=400, reference_mhz=1410, lowest_mhz=210
)
LIMITS = GpuLimits(idle_w=50, max_w=400, highest_mhz=1410, lowest_mhz=210)
COUNTS, CLOCKS, BATCH = (1, 2, 4, 8, 16, 32), (510, 810, 1110, 1410), 64.0


def point(gpus: int, clock_mhz: float = 0.0, **changes: Any) -> Point:
    batch = BATCH / gpus
    busy = TRUE.busy_share(gpus, clock_mhz, batch)
    whole = Point(
        gpus=gpus,
        clock_mhz=clock_mhz,
        steps_per_s=float(TRUE.steps_per_s(gpus, clock_mhz, batch)),
        watts_per_gpu=float(POWER.watts(clock_mhz, batch, busy)),
        batch_per_gpu=batch,
    )
    return replace(whole, **changes)


SWEEP = [point(gpus, clock) for gpus in COUNTS for clock in CLOCKS]


def test_a_fit_finds_the_model_behind_the_points() -> None:
    fit = fit_throughput(SWEEP, reference_mhz=1410)
    assert fit.worst_error < 0.02
    for gpus, clock in ((64, 660), (2, 1000), (16, 1260)):
        expected = TRUE.steps_per_s(gpus, clock, BATCH / gpus)
        assert fit.model.steps_per_s(gpus, clock, BATCH / gpus) == pytest.approx(expected, rel=0.05)


def test_watts_are_found_too() -> None:
    fit = fit_power(SWEEP, TRUE, LIMITS)
    assert fit.worst_error < 0.02
    assert fit.model.computing_w(600) == pytest.approx(POWER.computing_w(600), rel=0.03)


def test_points_that_waited_for_data_tell_what_waiting_draws() -> None:
    """On one GPU nobody waits for others; only starved points know."""
    fed = [point(1, clock) for clock in CLOCKS]
    starved = [
        replace(
            whole,
            steps_per_s=whole.steps_per_s / 3,
            watts_per_gpu=float(POWER.watts(whole.clock_mhz, BATCH, 1 / 3)),
        )
        for whole in fed
    ]
    told, unsaid = (fit_power(points, TRUE, LIMITS).model for points in ([*fed, *starved], fed))
    assert told.waiting_w(1410) == pytest.approx(POWER.waiting_w(1410), rel=0.03)
    assert unsaid.waiting_w(1410) != pytest.approx(POWER.waiting_w(1410), rel=0.1)


def test_ranges_say_what_was_measured() -> None:
    fit = fit_throughput([point(gpus) for gpus in COUNTS], reference_mhz=1410)
    assert (fit.ranges["gpus"].low, fit.ranges["gpus"].high) == (1, 32)
    assert fit.leaves(gpus=64, clock_mhz=1410) == ("gpus",)
    assert "clock_mhz was never varied" in " ".join(note.message for note in fit.notes)
    assert fit.model.alpha0 == fit.model.alpha1 == 0, "time is taken to follow the clock entirely"


BROKEN: list[tuple[str, list[Point], str, str]] = [
    ("none", [], "no_points", "/points"),
    ("zero", [point(1), point(2, steps_per_s=0.0)], "not_positive", "/points/1/steps_per_s"),
    ("nan", [point(1, steps_per_s=math.nan)], "not_finite", "/points/0/steps_per_s"),
    ("infinite", [point(1, steps_per_s=math.inf)], "not_finite", "/points/0/steps_per_s"),
    ("negative", [point(1, steps_per_s=-1.0)], "not_positive", "/points/0/steps_per_s"),
    ("no GPUs", [replace(point(1), gpus=0)], "out_of_range", "/points/0/gpus"),
    ("zero watts", [point(1, watts_per_gpu=0.0)], "not_positive", "/points/0/watts_per_gpu"),
    ("weight", [point(1, weight=0.0)], "not_positive", "/points/0/weight"),
    (
        "milliseconds",
        [*SWEEP[:5], replace(SWEEP[5], steps_per_s=SWEEP[5].steps_per_s / 1000)],
        "unit_mismatch",
        "/points/5/steps_per_s",
    ),
    (
        "milliwatts",
        [*SWEEP[:5], replace(SWEEP[5], watts_per_gpu=SWEEP[5].watts_per_gpu * 1000)],
        "unit_mismatch",
        "/points/5/watts_per_gpu",
    ),
]


@pytest.mark.parametrize(
    ("points", "code", "where"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN]
)
def test_degenerate_points_are_refused_by_name(points: list[Point], code: str, where: str) -> None:
    with pytest.raises(FitRefused) as refused:
        fit_behaviour(points, LIMITS)
    assert [(problem.code, problem.pointer) for problem in refused.value.problems] == [
        (code, where)
    ]


def test_a_sound_sweep_is_not_taken_for_a_wrong_unit() -> None:
    wide = [point(gpus, clock) for gpus in (1, 128) for clock in (210, 1410)]
    assert fit_throughput(wide, reference_mhz=1410).points == 4


def test_more_watts_than_the_gpu_can_draw_are_refused() -> None:
    with pytest.raises(FitRefused, match="at most 400 W"):
        fit_power([point(1, watts_per_gpu=700.0)], TRUE, LIMITS)


def test_one_point_gives_a_wide_interval() -> None:
    one = Application(
        name="one", batch=BATCH, behaviours={"A100": fit_behaviour([point(2)], LIMITS)}
    )
    there, elsewhere = one.predict("A100", 2), one.predict("A100", 4)
    assert there.source == "measured"
    assert there.steps_per_s == point(2).steps_per_s
    assert elsewhere.extrapolated
    assert elsewhere.high / elsewhere.low >= 4
    assert there.steps_per_s <= elsewhere.steps_per_s <= 2 * there.steps_per_s * (1 + 1e-9)


def test_all_equal_points_are_marked() -> None:
    same = [point(gpus, steps_per_s=3.0) for gpus in (1, 2, 4, 8)]
    fit = fit_throughput(same, reference_mhz=1410)
    assert fit.wide
    assert "all_equal" in {note.code for note in fit.notes}
    np.testing.assert_allclose(fit.model.steps_per_s([1, 2, 4, 8], 0, [64, 32, 16, 8]), 3, rtol=0.3)
