"""Predictions say what, how surely and from where; tensors hold the same figures."""

import math

import numpy as np
import pytest

from jobs.profiling.fitting.behaviour import fit_behaviour, fit_throughput
from jobs.profiling.performance.application import Application, Behaviour
from jobs.profiling.performance.points import Point
from jobs.profiling.performance.sensitivity import Sensitivity
from jobs.profiling.tensors import profile_table
from tests.jobs.profiling.test_fitting import BATCH, COUNTS, LIMITS, POWER, SWEEP, TRUE, point


def fitted(points: list[Point]) -> Application:
    behaviour = fit_behaviour(points, LIMITS)
    return Application(name="job", batch=BATCH, behaviours={"A100": behaviour})


JOB = fitted(SWEEP)


def test_a_measured_point_wins_at_its_own_place() -> None:
    odd = [p for p in SWEEP if p.gpus != 4] + [point(4, 1410, steps_per_s=1.2 * _true(4, 1410))]
    job = fitted(odd)
    assert job.predict("A100", 4, 1410).source == "measured"
    assert job.predict("A100", 4, 1410).steps_per_s == pytest.approx(1.2 * _true(4, 1410))
    assert job.predict("A100", 4).steps_per_s == pytest.approx(1.2 * _true(4, 1410))
    assert job.predict("A100", 4, 1110).source == "fitted"


def _true(gpus: int, clock_mhz: float) -> float:
    return float(TRUE.steps_per_s(gpus, clock_mhz, BATCH / gpus))


def test_inside_and_outside_of_what_was_measured() -> None:
    inside, outside = JOB.predict("A100", 8, 1000), JOB.predict("A100", 128, 300)
    assert not inside.extrapolated
    assert inside.low < _true(8, 1000) < inside.high
    assert outside.leaves == ("gpus", "clock_mhz", "batch_per_gpu")
    assert outside.high / outside.low > inside.high / inside.low


def test_another_gpu_type_is_not_known() -> None:
    found = JOB.predict("T4", 1)
    assert math.isnan(found.steps_per_s)
    assert found.leaves == ("gpu_type",)


def test_an_application_without_measurements_is_neutral() -> None:
    found = Application(name="unknown").predict("A100", 2)
    assert (found.source, found.steps_per_s) == ("neutral", 2.0)
    assert found.high / found.low == pytest.approx(4)


def test_a_job_is_as_slow_as_the_slower_of_its_gpus_and_its_data() -> None:
    slow = Sensitivity.of_curve([1, 4], [1.0, 4.0], reference_cpus=4)
    job = Application(name="job", batch=BATCH, behaviours=JOB.behaviours, sensitivity=slow)
    alone = job.predict("A100", 1, 1410, cpus_per_gpu=4).steps_per_s
    full, half, starved = (job.predict("A100", 2, 1410, cpus_per_gpu=c) for c in (4, 2, 1))
    # Two GPUs bring twice the CPUs of one, so that half a share each feeds one of them.
    assert full.steps_per_s < 2 * alone
    assert half.steps_per_s == pytest.approx(alone)
    assert starved.steps_per_s == pytest.approx(alone / 2)


def test_gpus_that_wait_for_data_draw_less() -> None:
    slow = Sensitivity.of_curve([1, 4], [1.0, 4.0], reference_cpus=4)
    job = Application(name="job", batch=BATCH, behaviours=JOB.behaviours, sensitivity=slow)
    fit = JOB.behaviours["A100"].power
    assert fit is not None
    full, starved = (job.predict("A100", 1, 1000, cpus_per_gpu=c) for c in (4, 1))
    compute_s, step_s = float(TRUE.compute_s(1000, BATCH)), 4 * float(TRUE.compute_s(0, BATCH))
    assert full.watts_per_gpu == pytest.approx(POWER.watts(1000, BATCH), rel=0.02)
    expected = float(fit.model.watts(1000, BATCH, compute_s / step_s))
    assert starved.watts_per_gpu == pytest.approx(expected, rel=0.02)
    assert starved.low_w < expected < starved.high_w
    # What was measured there with enough data is the start; the models say how much less.
    measured, less = (job.predict("A100", 1, 1410, cpus_per_gpu=c) for c in (4, 1))
    assert measured.source == "measured"
    share = float(fit.model.watts(1410, BATCH, 0.25) / fit.model.watts(1410, BATCH))
    assert less.watts_per_gpu == pytest.approx(share * measured.watts_per_gpu, rel=1e-3)


def test_a_batch_that_grows_makes_a_step_on_every_gpu() -> None:
    points = [Point(gpus=n, steps_per_s=n * 2.0) for n in (1, 2, 4, 8)]
    behaviour = Behaviour(throughput=fit_throughput(points, grows=True))
    job = Application(name="weak", grows=True, behaviours={"A100": behaviour})
    assert job.predict("A100", 16).steps_per_s == pytest.approx(32, rel=0.1)


def test_tensors_hold_what_predictions_say() -> None:
    clocks = [0, 510, 1000, 1410]
    unknown = Application(name="unknown")
    table = profile_table(
        [7, 9],
        [JOB, unknown],
        ["T4", "A100"],
        gpu_counts=[1, 2, 3, 64],
        clocks_mhz=[[0, 0, 0, 1590], clocks],
    )
    assert table.throughput.shape == (2, 2, 4, 4)
    assert np.isnan(table.throughput[0, 0]).all(), "not known on a T4"
    assert np.isnan(table.throughput[0, 1, :, 0]).all(), "no such clock"
    for count, gpus in enumerate((1, 2, 3, 64)):
        for at, clock in enumerate(clocks[1:], start=1):
            found = JOB.predict("A100", gpus, clock)
            cell = (0, 1, count, at)
            assert table.throughput[cell] == pytest.approx(found.steps_per_s)
            assert table.watts_per_gpu[cell] == pytest.approx(found.watts_per_gpu)
    assert np.isnan(table.throughput[1]).all(), "nothing is known of it"
    assert table.id.tolist() == [7, 9]


def test_points_alone_fill_their_cells_only() -> None:
    bare = Application(name="bare", behaviours={"A100": Behaviour(points=(point(2, 810),))})
    table = profile_table(
        [1], [bare], ["A100"], gpu_counts=list(COUNTS), clocks_mhz=[[510, 810, 1410]]
    )
    assert np.isnan(table.throughput).all(), "its batch is another one than the application's"
    same = Application(
        name="bare", batch=BATCH, behaviours={"A100": Behaviour(points=(point(2, 810),))}
    )
    table = profile_table(
        [1], [same], ["A100"], gpu_counts=list(COUNTS), clocks_mhz=[[510, 810, 1410]]
    )
    assert np.isfinite(table.throughput).sum() == 1
    assert table.throughput[0, 0, 1, 1] == point(2, 810).steps_per_s
