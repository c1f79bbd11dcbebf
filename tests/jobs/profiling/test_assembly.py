"""Points at whatever clocks and CPUs become models that predict what was not measured."""

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from jobs.profiling.assembly import Data, Typed, assembled
from jobs.profiling.checks import troubles
from jobs.profiling.fitting.behaviour import GpuLimits
from jobs.profiling.performance.application import Application
from jobs.profiling.performance.points import Point
from jobs.profiling.steering import WEIGHT, MeasuredConfiguration, Sweep

CLOCKS = (210, 510, 660, 810, 960, 1110, 1260, 1410)
LIMITS = {"A100": GpuLimits(idle_w=55, max_w=400, highest_mhz=1410, lowest_mhz=210)}


def compute_s(gpus: int, clock_mhz: float) -> float:
    return (0.02 + 0.08 * 1410 / clock_mhz) / gpus


def true_speed(gpus: int, clock_mhz: float, cpus_per_gpu: float) -> float:
    """Computing, and gradients among several; preparing, of which a little cannot be shared."""
    exchange_s = 0.015 * (gpus > 1)
    prepare_s = (0.5 / cpus_per_gpu + 0.01) / gpus
    return 1 / max(compute_s(gpus, clock_mhz) + exchange_s, prepare_s)


def true_watts(
    gpus: int, clock_mhz: float, cpus_per_gpu: float = 32, waiting: float = 0.2
) -> float:
    """`waiting` of the watts above idle while a GPU waits for others or for data."""
    x = clock_mhz / 1410
    busy = compute_s(gpus, clock_mhz) * true_speed(gpus, clock_mhz, cpus_per_gpu)
    return 55 + 345 * (busy * (0.3 * x + 0.7 * x**3) + (1 - busy) * waiting * x)


def point(gpus: int, clock_mhz: int, cpus: float, waiting: float = 0.2) -> Typed:
    return Typed(
        "A100",
        Point(
            gpus=gpus,
            clock_mhz=clock_mhz,
            cpus_per_gpu=cpus,
            steps_per_s=true_speed(gpus, clock_mhz, cpus),
            watts_per_gpu=true_watts(gpus, clock_mhz, cpus, waiting),
            weight=WEIGHT,
        ),
    )


def swept(waiting: float = 0.2) -> list[Typed]:
    """What a profiling run would measure, without noise."""
    sweep, measured = Sweep(CLOCKS, 32), list[MeasuredConfiguration]()
    while (at := sweep.next(measured)) is not None:
        measured.append(MeasuredConfiguration(at, true_speed(1, at.clock_mhz or 0, at.cpus)))
    return [point(1, one.at.clock_mhz or 0, one.at.cpus, waiting) for one in measured]


def errors(known: Application, counts: tuple[int, ...]) -> Iterator[float]:
    for gpus in counts:
        for clock in CLOCKS:
            for cpus in (1, 2, 3, 4, 5, 6, 7, 8, 12, 20, 32):
                told = known.predict("A100", gpus, clock, cpus_per_gpu=cpus)
                yield abs(told.steps_per_s / true_speed(gpus, clock, cpus) - 1)


def test_a_sweep_on_one_gpu_predicts_every_clock_and_cpu_count() -> None:
    known = assembled("x", swept(), LIMITS, Data())
    assert max(errors(known, (1,))) < 0.03
    watts = [known.predict("A100", 1, clock).watts_per_gpu for clock in CLOCKS]
    assert watts == pytest.approx([true_watts(1, clock) for clock in CLOCKS], rel=0.02)


@pytest.mark.parametrize("waiting", [0.05, 0.2, 0.3])
def test_what_waiting_draws_is_told_by_points_with_too_few_cpus(waiting: float) -> None:
    attempts = [point(gpus, 1410, cpus, waiting) for gpus, cpus in ((1, 3), (2, 6), (4, 8))]
    for points, counts, bar in (
        (swept(waiting), (1,), 0.02),
        ([*swept(waiting), *attempts], (1, 2, 3, 4), 0.05),
    ):
        known = assembled("x", points, LIMITS, Data())
        for gpus, clock, cpus in product(counts, CLOCKS, (1, 2, 3, 5, 8, 32)):
            told = known.predict("A100", gpus, clock, cpus_per_gpu=cpus)
            expected = true_watts(gpus, clock, cpus, waiting)
            assert told.watts_per_gpu == pytest.approx(expected, rel=bar)


def test_watts_of_starved_points_are_not_taken_for_computing() -> None:
    """Nobody tried the other type with CPUs enough: its points drew what waiting mostly draws."""
    few = [Typed("V100", point(1, mhz, 1).point) for mhz in (510, 960, 1410)]
    known = assembled("x", [*swept(), *few], {**LIMITS, "V100": LIMITS["A100"]}, Data())
    starved, fed = (known.predict("V100", 1, 1410, cpus_per_gpu=c) for c in (1, 32))
    assert starved.watts_per_gpu == pytest.approx(true_watts(1, 1410, 1), rel=0.05)
    assert fed.watts_per_gpu > 1.3 * starved.watts_per_gpu


def test_three_attempts_tell_about_more_gpus() -> None:
    points = [*swept(), point(1, 1410, 3), point(2, 1410, 6), point(4, 1410, 8)]
    known = assembled("x", points, LIMITS, Data())
    assert max(errors(known, (1, 2, 3, 4))) < 0.05
    far = known.predict("A100", 8)
    assert far.extrapolated
    assert far.low < true_speed(8, 1410, 32) < far.high


def test_a_low_clock_costs_nothing_where_the_cpus_hold_it_up_anyway() -> None:
    known = assembled("x", swept(), LIMITS, Data())
    slow, fast = (known.predict("A100", 1, mhz, cpus_per_gpu=1).steps_per_s for mhz in (810, 1410))
    assert slow == pytest.approx(fast)
    assert fast == pytest.approx(1 / 0.51, rel=0.01)


def test_memory_is_derived_from_the_data_not_swept() -> None:
    """Half of 10,000 MiB are cached; the other half of 100 MiB a step comes at 200 MiB/s."""
    data = Data(dataset_mib=10_000, step_mib=100, storage_mib_per_s=200)
    known = assembled("x", swept(), LIMITS, data)
    full, half = (
        known.predict("A100", 1, cpus_per_gpu=32, mem_mib_per_gpu=memory).steps_per_s
        for memory in (10_000, 5_000)
    )
    assert full == pytest.approx(10, rel=0.01)
    assert half == pytest.approx(200 / 50, rel=0.01)
    unknown = assembled("x", swept(), LIMITS, Data(dataset_mib=10_000))
    assert unknown.predict(
        "A100", 1, cpus_per_gpu=32, mem_mib_per_gpu=5_000
    ).steps_per_s == pytest.approx(10, rel=0.01)


def test_without_cpu_counts_there_is_no_sensitivity() -> None:
    points = [Typed("A100", Point(gpus=n, steps_per_s=5.0 * n)) for n in (1, 2, 4)]
    known = assembled("x", points, LIMITS, Data())
    assert known.sensitivity is None
    assert known.predict("A100", 2, cpus_per_gpu=1).steps_per_s == pytest.approx(10)


def test_too_few_cpus_everywhere_are_allowed_for() -> None:
    """The other GPU type was only ever tried with two CPUs; with enough it would be faster."""
    few = [
        Typed("V100", Point(gpus=1, cpus_per_gpu=2, clock_mhz=mhz, steps_per_s=3.0))
        for mhz in (810, 1530)
    ]
    known = assembled("x", [*swept(), *few], LIMITS, Data())
    starved, fed = (known.predict("V100", 1, cpus_per_gpu=cpus).steps_per_s for cpus in (2.0, 32.0))
    assert starved == pytest.approx(3.0, rel=0.02)
    assert fed > 2 * starved


@pytest.mark.parametrize(
    ("bad", "code", "field"),
    [
        ({"steps_per_s": math.nan}, "not_finite", "steps_per_s"),
        ({"steps_per_s": 0.0}, "not_positive", "steps_per_s"),
        ({"steps_per_s": 10_000.0}, "unit_mismatch", "steps_per_s"),
        ({"steps_per_s": 0.01}, "unit_mismatch", "steps_per_s"),
        ({"watts_per_gpu": 300_000.0}, "unit_mismatch", "watts_per_gpu"),
        ({"watts_per_gpu": 700.0}, "above_max", "watts_per_gpu"),
    ],
)
def test_every_trouble_is_at_its_own_point(bad: dict[str, float], code: str, field: str) -> None:
    """Held against points of its own type: those of another stand before and after it."""
    good: dict[str, Any] = {"gpus": 1, "steps_per_s": 10.0, "watts_per_gpu": 300.0}
    points = [
        Typed("V100", Point(gpus=1, steps_per_s=900.0)),
        *(Typed("A100", Point(**{**good, "gpus": n, "clock_mhz": 1410})) for n in (1, 2)),
        Typed("A100", Point(**{**good, **bad, "clock_mhz": 705})),
        Typed("V100", Point(gpus=2, steps_per_s=950.0)),
    ]
    (found,) = troubles(points, LIMITS)
    assert (found.index, found.code, found.field) == (3, code, field)
    assert found.message.startswith("The point of 1 A100 at 705 MHz")
