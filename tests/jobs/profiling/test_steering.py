"""A profiling run measures few configurations, the right ones, and comes to an end."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from jobs.profiling.steering import (
    Configuration,
    MeasuredConfiguration,
    SettledReport,
    Sweep,
    result,
)

A100 = (705, 1065, 1410)
WANTED = Configuration(1410, 8)


def swept(
    sweep: Sweep, speed: Callable[[Configuration], float | None]
) -> list[MeasuredConfiguration]:
    measured: list[MeasuredConfiguration] = []
    while (at := sweep.next(measured)) is not None:
        assert at not in {one.at for one in measured}
        measured.append(MeasuredConfiguration(at, speed(at)))
    return measured


def cpu_bound(knee: int) -> Callable[[Configuration], float]:
    return lambda at: min(at.cpus, knee) * (at.clock_mhz or 1410) / 1410


def test_cpus_are_bisected_towards_the_knee_then_clocks_are_tried() -> None:
    """1 CPU is slower than 24; of 12, 6, 9, 7, 8 the speeds are 8, 6, 8, 7 and 8."""
    measured = swept(Sweep(A100, 24), cpu_bound(8))
    assert [one.at.cpus for one in measured[:-2]] == [24, 1, 12, 6, 9, 7, 8]
    assert {one.at.clock_mhz for one in measured[:-2]} == {1410}
    assert [one.at for one in measured[-2:]] == [Configuration(705, 24), Configuration(1065, 24)]


def test_a_program_that_needs_no_cpus_is_measured_with_two_counts() -> None:
    measured = swept(Sweep(A100, 24), lambda at: (at.clock_mhz or 0) / 100)
    assert [one.at for one in measured] == [
        Configuration(1410, 24),
        Configuration(1410, 1),
        Configuration(705, 24),
        Configuration(1065, 24),
    ]


def test_where_no_clock_can_be_set_only_cpus_are_swept() -> None:
    measured = swept(Sweep((), 4), cpu_bound(2))
    assert [one.at for one in measured] == [Configuration(None, c) for c in (4, 1, 2)]


def test_of_many_clocks_a_few_are_tried() -> None:
    measured = swept(Sweep(range(210, 1411, 15), 1), lambda at: 1.0)
    clocks = [one.at.clock_mhz for one in measured]
    assert clocks == [1410, 210, 615, 1005]


def test_what_cannot_be_measured_is_not_tried_again() -> None:
    measured = swept(Sweep(A100, 16), lambda at: None if at.cpus < 16 else 1.0)
    assert [one.at.cpus for one in measured] == [16, 1, 16, 16]


@given(
    most=st.integers(1, 128),
    knee=st.integers(1, 128),
    clocks=st.sets(st.integers(100, 2000), max_size=40),
)
def test_minutes_not_hours(most: int, knee: int, clocks: set[int]) -> None:
    measured = swept(Sweep(tuple(clocks), most), cpu_bound(knee))
    assert len(measured) <= 2 + 7 + 4
    fastest = max(one.steps_per_s or 0 for one in measured)
    assert fastest == cpu_bound(knee)(Configuration(max(clocks, default=None), most))


def test_a_measurement_takes_ten_seconds_and_twenty_steps() -> None:
    short = SettledReport(WANTED, 30, 9.9)
    assert result(WANTED, short, 10) is None
    few = SettledReport(WANTED, 19, 30.0)
    assert result(WANTED, few, 40) is None
    enough = SettledReport(WANTED, 40, 10.0, energy_mj=3_000_000, energy_s=10.0)
    assert result(WANTED, enough, 20) == MeasuredConfiguration(WANTED, 4.0, 300.0)


def test_slow_programs_get_a_minute() -> None:
    assert result(WANTED, SettledReport(WANTED, 3, 59.0), 60) is None
    assert result(WANTED, SettledReport(WANTED, 3, 60.0), 62) == MeasuredConfiguration(WANTED, 0.05)


def test_what_is_heard_of_the_configuration_before_does_not_count() -> None:
    before = SettledReport(Configuration(705, 8), 400, 100.0)
    assert result(WANTED, before, 5) is None
    assert result(WANTED, None, 89) is None
    assert result(WANTED, before, 90) == MeasuredConfiguration(WANTED, None)
