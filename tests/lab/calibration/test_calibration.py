"""What ships is sound, and leaving out, carrying over and reporting do what they say."""

import math
from typing import Any

import numpy as np
import pytest

from jobs.profiling.performance.gpu_power import PowerModel
from jobs.profiling.performance.points import Point
from lab.calibration.capping import CappedModel
from lab.calibration.counts import contradictory, count_cases
from lab.calibration.errors import errors_of
from lab.calibration.gpu_sheets import SHEETS
from lab.calibration.left_out import run
from lab.calibration.load import (
    POWERS_OF_TWO,
    clock_steps,
    example_table,
    load_applications,
    load_fitted,
    load_gpu_types,
)
from lab.calibration.measurements import CountSeries, cap_cases, count_series, matrix_cases
from lab.calibration.transfer import power_model, scaled
from simulator.scenario.files import data_directory

pytestmark = pytest.mark.slow

needs_data = pytest.mark.skipif(not data_directory().is_dir(), reason="FAIRWATT_DATA is not there")


def test_the_examples_of_an_a100_fill_their_table() -> None:
    applications, table = example_table("A100")
    assert {one.name.split("/")[0] for one in applications} >= {
        "bert", "deepspeech2", "gpt2", "inception3", "resnet50", "vgg16",
    }  # fmt: skip
    assert table.gpu_counts.tolist() == list(POWERS_OF_TWO)
    assert table.clocks_mhz[0].tolist() == clock_steps("A100", 9)
    assert table.clocks_mhz[0, [0, -1]].tolist() == [210, 1410]
    assert np.isfinite(table.throughput).all()
    assert (np.diff(table.throughput, axis=3) >= 0).all(), "more clock is never slower"
    assert ((table.watts_per_gpu >= 50) & (table.watts_per_gpu <= 400)).all()
    assert (np.diff(table.watts_per_gpu, axis=3) >= 0).all(), "nor does it draw less"


def test_predictions_past_the_measurements_are_marked() -> None:
    bert = next(one for one in load_applications("A100") if one.name == "bert/64")
    assert not bert.predict("A100", 16).extrapolated
    assert "gpus" in bert.predict("A100", 128).leaves
    assert "clock_mhz" in bert.predict("A100", 16, 900).leaves


def test_every_example_says_where_it_is_from_and_how_far_off() -> None:
    for one in load_fitted():
        assert one.source
        assert {b.gpu_type for b in one.behaviours} <= load_gpu_types().keys()
        for behaviour in one.behaviours:
            told = behaviour.throughput
            assert 0 <= told.mean_error <= told.worst_error
            assert 0 < told.spread < math.log(2)


def test_gpu_types_are_those_of_the_sheets() -> None:
    shipped = load_gpu_types()
    assert shipped.keys() == SHEETS.keys()
    for name, one in shipped.items():
        assert one.max_w == SHEETS[name].max_w
        assert list(one.clocks_mhz) == sorted(one.clocks_mhz)


def test_errors_by_hand() -> None:
    def row(left_out: float, end: bool) -> dict[str, Any]:
        return {"measured": 10.0, "left_out": left_out, "end": end}

    found = errors_of([row(11, True), row(9.5, False), row(10, False)])
    assert found == pytest.approx((3, 0.05, 0.1, 0.025, 0.1))


def test_a_gang_that_outruns_its_gpus_contradicts_itself() -> None:
    def series(speeds: list[float]) -> CountSeries:
        points = (
            Point(gpus=2**at, steps_per_s=speed, batch_per_gpu=8.0)
            for at, speed in enumerate(speeds)
        )
        return CountSeries("made up", "V100", "job", True, tuple(points))

    assert contradictory(series([1, 1.9, 3.5, 6])) == []
    assert contradictory(series([1, 3.1, 4, 6])) == [8]
    assert contradictory(series([1, 2, 1.5, 7])) == [8]


def test_a_shape_scales_with_the_power_limit() -> None:
    small = CappedModel(
        compute_s=8, wait_s=2, power=PowerModel(p0=50, p3=200, q0=70, max_w=250, lowest_mhz=0.1)
    )
    large = scaled(small, 250, 400)
    assert large.iteration_s(160) == pytest.approx(float(small.iteration_s(100)))
    assert large.watts(160) == pytest.approx(1.6 * float(small.watts(100)))
    power = power_model(large, SHEETS["A100"])
    assert power.watts(1410) == pytest.approx(float(large.watts(400)), rel=0.02)
    half_clock = float(large.iteration_j_at(0.5) / (2 + 8 / 0.5))
    assert power.watts(705) == pytest.approx(half_clock, rel=0.02)


@needs_data
def test_a_small_part_of_the_calibration() -> None:
    path = data_directory()
    cases = {one.name: one for one in count_cases(list(count_series(path)))}
    bert = cases["count ElasticFlow A100 bert"]
    found = run(bert)
    assert len(found["rows"]) == 14
    assert errors_of(found["rows"]).mean < 0.05
    assert found["contradictory"] == []
    resnet = next(c for c in cap_cases(path) if c.name == "cap P100 resnet50-imagenet-adadelta/32")
    found = run(resnet)
    assert [row["cap_w"] for row in found["rows"]] == [125, 150, 175, 200, 225, 250]
    assert errors_of(found["rows"]).mean < 0.06
    assert found["steps_apart"] <= 1


@needs_data
def test_every_measurement_is_read() -> None:
    path = data_directory()
    assert len(list(cap_cases(path))) == 165
    assert len(list(matrix_cases(path))) == 12
    types = {(one.source.split()[0], one.gpu_type) for one in count_series(path)}
    elasticflow, gavel = "ElasticFlow", "Gavel"
    assert types == {
        (elasticflow, "A100"), (elasticflow, "T4"), (gavel, "K80"), (gavel, "P100"),
        (gavel, "V100"),
    }  # fmt: skip
