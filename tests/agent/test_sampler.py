"""Samples: numbered once, attributed to one holder, shed from the old end and counted."""

from pathlib import Path

import pytest

from agent.devices.base import Reading
from agent.measure.sampler import GpuMeter, GpuSampler, host_reading
from agent.wire import EnergyMethod
from tests.agent.fakes import FakeGpu


@pytest.fixture
def gpu() -> FakeGpu:
    return FakeGpu()


def sampler(gpu: FakeGpu, directory: Path, boot_id: str = "boot", room: int = 100) -> GpuSampler:
    return GpuSampler({"GPU-a": gpu}, directory / "meters.json", boot_id, lambda: 5.0, room)


def test_the_interval_belongs_to_who_held_the_gpu_while_it_passed(
    gpu: FakeGpu, tmp_path: Path
) -> None:
    made = sampler(gpu, tmp_path)
    for energy_mj, change in ((0, None), (10, 7), (30, None), (60, "release"), (100, None)):
        gpu.energy_mj = energy_mj
        if change == 7:
            assert made.hand_over(("GPU-a",), 7) == {"GPU-a": 10}
        elif change == "release":
            made.hand_over(("GPU-a",), None)
        else:
            made.sample()
    assert [(s.energy_mj, s.attempt_id) for s in made.batch()] == [
        (0, None),
        (10, None),
        (30, 7),
        (60, 7),
        (100, None),
    ]


def test_numbers_go_on_within_a_boot_and_start_anew_with_the_next(
    gpu: FakeGpu, tmp_path: Path
) -> None:
    first = sampler(gpu, tmp_path)
    first.sample()
    first.sample()
    second = sampler(gpu, tmp_path)
    second.sample()
    assert [sample.sequence for sample in second.batch()] == [3]
    rebooted = sampler(gpu, tmp_path, "next boot")
    rebooted.sample()
    assert [sample.sequence for sample in rebooted.batch()] == [1]


def test_the_oldest_are_shed_and_counted(gpu: FakeGpu, tmp_path: Path) -> None:
    made = sampler(gpu, tmp_path, room=3)
    for _ in range(5):
        made.sample()
    assert [sample.sequence for sample in made.batch()] == [3, 4, 5]
    assert made.shed == 2


def test_what_was_shed_while_a_batch_was_under_way_is_not_taken_twice(
    gpu: FakeGpu, tmp_path: Path
) -> None:
    made = sampler(gpu, tmp_path, room=3)
    for _ in range(3):
        made.sample()
    under_way = made.batch()
    for _ in range(2):
        made.sample()
    made.taken(under_way)
    assert [sample.sequence for sample in made.batch()] == [4, 5]


def test_a_batch_has_a_most(gpu: FakeGpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.measure.sampler.MAX_SAMPLES", 4)
    made = sampler(gpu, tmp_path)
    for _ in range(5):
        made.sample()
    batch = made.batch()
    assert len(batch) == 4
    made.taken(batch)
    assert len(made.batch()) == 1


def test_a_lost_gpu_gives_no_sample_and_keeps_its_last_count(gpu: FakeGpu, tmp_path: Path) -> None:
    made = sampler(gpu, tmp_path)
    gpu.energy_mj = 50
    made.sample()
    gpu.lost = True
    assert made.hand_over(("GPU-a",), None) == {"GPU-a": 50}
    assert len(made.batch()) == 1
    assert made.latest["GPU-a"].fault == "gone"


def meter_over(counters: list[int | None], every_ms: int = 1000) -> list[int]:
    meter = GpuMeter()
    return [
        meter.advance(Reading(100_000, counter), index * every_ms)[0]
        for index, counter in enumerate(counters)
    ]


def test_a_meter_is_the_counter_until_the_counter_starts_anew() -> None:
    assert meter_over([5, 10, 20]) == [5, 10, 20]
    assert meter_over([5, 20, 3, 4]) == [5, 20, 23, 24]
    assert meter_over([20, 20, 0, 20, 1]) == [20, 20, 20, 40, 41]


def test_without_a_counter_power_over_time_counts_from_the_first_reading() -> None:
    assert meter_over([None, None, None]) == [0, 100_000, 200_000]


def test_integration_is_by_trapezoids_and_loses_no_remainder() -> None:
    meter = GpuMeter()
    assert meter.advance(Reading(0, None), 0) == (0, EnergyMethod.INTEGRATED)
    assert meter.advance(Reading(200_000, None), 1000)[0] == 100_000
    for index in range(1, 10_001):
        last = meter.advance(Reading(200_000, None), 1000 + index)[0]
    assert last == 100_000 + 2_000_000


def test_the_host_is_read_within_bounds() -> None:
    reading = host_reading()
    assert 0 <= reading.cpu_pct <= 100
    assert reading.memory_used_mib > 0
