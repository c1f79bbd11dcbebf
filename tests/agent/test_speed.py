"""A speed is measured from steps and counters, and only of one clock and CPU count at a time."""

from agent.measure.speed import LOOK_BACK_S, SETTLE_S, Speedometer
from agent.wire import Speed

GPU, OTHER = "GPU-a", "GPU-b"


def driven(
    meter: Speedometer, until_s: float, *, from_s: float = 0.0, rate: float = 4.0, watts: int = 200
) -> Speedometer:
    """Looks once a second at an attempt that goes and draws steadily."""
    for at in range(int(from_s), int(until_s) + 1):
        meter.advance(int(rate * at), float(at), {GPU: (watts * 1000 * at, float(at))})
    return meter


def test_steps_and_joules_since_it_settled() -> None:
    meter = Speedometer()
    meter.set(1410, 8, 0.0)
    assert meter.speed() is None
    speed = driven(meter, 12).speed()
    assert speed == Speed(40, 10.0, 2_000_000, 10.0, clock_mhz=1410, cpus=8)
    assert SETTLE_S == 2.0


def test_another_clock_or_cpu_count_begins_anew() -> None:
    meter = driven(started(), 12)
    meter.set(1410, 8, 12.0)
    assert driven(meter, 13, from_s=13).speed() == Speed(44, 11.0, 2_200_000, 11.0, 1410, 8)
    meter.set(705, 8, 13.0)
    assert meter.speed() is None
    driven(meter, 14, from_s=13, rate=4)
    assert meter.speed() is None
    assert driven(meter, 20, from_s=15).speed() == Speed(20, 5.0, 1_000_000, 5.0, 705, 8)
    meter.set(705, 4, 20.0)
    assert meter.speed() is None


def test_an_attempt_that_goes_back_begins_anew() -> None:
    meter = driven(started(), 12)
    meter.advance(3, 13.0, {GPU: (2_600_000, 13.0)})
    assert meter.speed() is None
    meter.advance(5, 14.0, {GPU: (2_800_000, 14.0)})
    assert meter.speed() == Speed(2, 1.0, 200_000, 1.0, 1410, 8)


def test_a_pause_counts_only_once_a_step_ends_it() -> None:
    meter = driven(started(), 12)
    before = meter.speed()
    meter.advance(48, 12.0, {GPU: (9_999_999, 20.0)})
    assert meter.speed() == before


def test_counters_read_before_the_change_are_waited_for() -> None:
    """The new clock's watts would have some of the old one's in them."""
    meter = started()
    meter.advance(8, 2.1, {GPU: (9_999, 1.4)})
    meter.advance(10, 2.6, {GPU: (20_000, 2.4)})
    meter.advance(30, 7.6, {GPU: (1_020_000, 7.4)})
    assert meter.speed() == Speed(20, 5.0, 1_000_000, 5.0, 1410, 8)


def test_a_counter_that_is_never_read_again_does_not_hold_up_the_speed() -> None:
    meter = started()
    for at in range(3, 20):
        meter.advance(at, float(at), {GPU: (9_999, 1.4)})
    assert meter.speed() == Speed(7, 7.0, 0, 0.0, 1410, 8)


def test_two_gpus_add_up() -> None:
    meter = started()
    meter.advance(0, 2.0, {GPU: (0, 2.0), OTHER: (1000, 2.0)})
    meter.advance(10, 4.0, {GPU: (400_000, 4.0), OTHER: (601_000, 4.0)})
    assert meter.speed() == Speed(10, 2.0, 1_000_000, 4.0, 1410, 8)


def test_a_gpu_that_fell_off_the_bus_is_left_out() -> None:
    meter = started()
    meter.advance(0, 2.0, {GPU: (0, 2.0), OTHER: (0, 2.0)})
    meter.advance(10, 4.0, {GPU: (400_000, 4.0)})
    assert meter.speed() == Speed(10, 2.0, 400_000, 2.0, 1410, 8)


def test_it_does_not_look_back_for_ever() -> None:
    """An attempt that has slowed down is soon known by its new speed."""
    meter = driven(started(), 1000)
    for at in range(1001, 1001 + int(2 * LOOK_BACK_S) + 5):
        meter.advance(4000 + at - 1000, float(at), {GPU: (0, float(at))})
    speed = meter.speed()
    assert speed is not None
    assert LOOK_BACK_S <= speed.steps_s <= 2 * LOOK_BACK_S
    assert abs(speed.steps / speed.steps_s - 1.0) < 0.02


def started() -> Speedometer:
    meter = Speedometer()
    meter.set(1410, 8, 0.0)
    return meter
