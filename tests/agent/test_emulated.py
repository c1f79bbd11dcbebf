"""Emulated GPUs: what they draw, count and remember."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent.devices import catalogue
from agent.devices.base import ControlRefusedError, DeviceLostError, DevicesError
from agent.devices.choose import open_devices
from agent.devices.emulated import EmulatedGpu, EmulatedSet
from agent.devices.model import AMBIENT_C, GpuModel, energy_uj
from agent.run.processes import Process, start_ticks
from agent.wire import Power
from tests.agent.fakes import FakeClock
from tests.agent.process import TWO_GPUS

MODEL = GpuModel(idle_w=55, max_w=400, clocks_mhz=(510, 810, 1110, 1410))
ME = Process(os.getpid(), start_ticks(os.getpid()) or 0)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def opened(directory: Path, clock: FakeClock, boot_id: str = "boot") -> EmulatedSet:
    file = directory / "node.toml"
    file.write_text(TWO_GPUS)
    return EmulatedSet(catalogue.load(file), directory / "state", "node-1", boot_id, clock)


@pytest.fixture
def gpu(tmp_path: Path, clock: FakeClock) -> EmulatedGpu:
    return opened(tmp_path, clock).devices[0]


def test_power_grows_with_clock_and_load_between_idle_and_max() -> None:
    assert MODEL.power_mw(1410, 0.0) == 55_000
    assert MODEL.power_mw(1410, 1.0) == 400_000
    drawn = [MODEL.power_mw(clock, 1.0) for clock in MODEL.clocks_mhz]
    assert drawn == sorted(set(drawn))
    assert MODEL.power_mw(1410, 0.5) == 227_500


def test_half_the_clock_costs_less_than_half_the_dynamic_power() -> None:
    model = GpuModel(0, 400, (700, 1400))
    assert model.power_mw(700, 1.0) < 200_000


def test_waiting_draws_more_than_idle_and_less_than_computing() -> None:
    assert MODEL.power_mw(1410, 1.0, 0.0) == 124_000  # 55 + 0.2 * 345
    assert MODEL.power_mw(705, 1.0, 0.0) == 89_500
    assert MODEL.power_mw(1410, 1.0, 0.75) == 331_000
    for clock in MODEL.clocks_mhz:
        assert 55_000 < MODEL.power_mw(clock, 1.0, 0.0) < MODEL.power_mw(clock, 1.0)


@pytest.mark.parametrize(
    ("lock_mhz", "cap_w", "load", "clock_mhz"),
    [
        (None, None, 1.0, 1410),
        (810, None, 1.0, 810),
        (1000, None, 1.0, 810),  # the next lower clock there is
        (None, 300, 1.0, 1110),  # throttled
        (810, 300, 1.0, 810),
        (None, 60, 1.0, 510),  # no clock is low enough: the lowest
        (1410, None, 0.0, 510),  # idle cards clock down
    ],
)
def test_lock_and_cap_bound_the_clock(
    lock_mhz: int | None, cap_w: int | None, load: float, clock_mhz: int
) -> None:
    assert MODEL.clock_mhz(lock_mhz, cap_w, load) == clock_mhz


def test_heat_follows_power_with_a_lag_and_settles() -> None:
    soon_c = MODEL.temperature_c(AMBIENT_C, 400_000, 5)
    later_c = MODEL.temperature_c(soon_c, 400_000, 600)
    assert AMBIENT_C < soon_c < later_c
    assert later_c == pytest.approx(78.0, abs=0.01)
    in_parts = MODEL.temperature_c(MODEL.temperature_c(AMBIENT_C, 400_000, 2), 400_000, 3)
    assert in_parts == pytest.approx(soon_c)


def test_energy_is_exact_however_often_it_is_read(gpu: EmulatedGpu, clock: FakeClock) -> None:
    gpu.read()
    gpu.occupy(ME)
    for _ in range(100):
        clock.now_s += 0.0625
        gpu.read()
    assert gpu.read().energy_mj == energy_uj(400_000, 6_250) // 1000 == 2_500_000


@pytest.mark.process
def test_load_is_there_while_the_occupant_lives(gpu: EmulatedGpu) -> None:
    assert gpu.read().utilisation_pct == 0
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    occupant = Process(child.pid, start_ticks(child.pid) or 0)
    gpu.occupy(occupant)
    reading = gpu.read()
    assert (reading.utilisation_pct, reading.power_mw, reading.clock_mhz) == (100, 400_000, 1410)
    assert reading.memory_used_mib == 65536
    assert gpu.processes() == {child.pid}
    child.communicate(b"\n")
    assert gpu.read().power_mw == 55_000
    assert gpu.processes() == frozenset()


def test_energy_follows_what_the_occupant_says_of_its_waiting(
    gpu: EmulatedGpu, clock: FakeClock
) -> None:
    gpu.occupy(ME, 0.75)
    clock.now_s += 2
    gpu.occupy(ME, 1.0)
    assert gpu.read().energy_mj == energy_uj(331_000, 2_000) // 1000
    assert gpu.read().power_mw == 400_000


def test_a_pid_used_again_is_no_occupant(gpu: EmulatedGpu) -> None:
    gpu.occupy(Process(os.getpid(), 1))
    assert gpu.read().utilisation_pct == 0


def test_clock_and_cap_show_in_the_next_reading(gpu: EmulatedGpu) -> None:
    gpu.occupy(ME)
    gpu.lock_clock(810)
    assert gpu.read().clock_mhz == 810
    gpu.unlock_clock()
    gpu.cap_power(300)
    assert gpu.read().clock_mhz == 1110
    assert gpu.read().power_mw <= 300_000
    gpu.uncap_power()
    assert gpu.read().power_mw == 400_000


def test_what_the_card_cannot_is_refused(gpu: EmulatedGpu) -> None:
    with pytest.raises(ControlRefusedError, match="811 MHz is not a clock of A100-SXM4-80GB"):
        gpu.lock_clock(811)
    with pytest.raises(ControlRefusedError, match="401 W is not between 100 and 400 W"):
        gpu.cap_power(401)


def test_the_counter_outlives_the_agent_and_runs_on_without_it(
    tmp_path: Path, clock: FakeClock
) -> None:
    first = opened(tmp_path, clock).devices[0]
    first.read()
    clock.now_s += 10
    second = opened(tmp_path, clock).devices[0]
    assert second.inventory.uuid == first.inventory.uuid
    assert second.read().energy_mj == 550_000


def test_a_reboot_keeps_the_counter_and_counts_nothing_while_off(
    tmp_path: Path, clock: FakeClock
) -> None:
    before = opened(tmp_path, clock).devices[0]
    before.read()
    clock.now_s += 10
    before.read()
    clock.now_s = 3.0
    after = opened(tmp_path, clock, boot_id="next boot").devices[0]
    assert after.read().energy_mj == 550_000
    clock.now_s += 1
    assert after.read().energy_mj == 605_000


def test_each_gpu_has_its_own_uuid_on_every_node(tmp_path: Path, clock: FakeClock) -> None:
    file = tmp_path / "node.toml"
    file.write_text(TWO_GPUS)
    nodes = [
        EmulatedSet(catalogue.load(file), tmp_path / name, name, "boot", clock)
        for name in ("node-1", "node-2")
    ]
    assert len({gpu.inventory.uuid for node in nodes for gpu in node.devices}) == 4
    assert [gpu.inventory.index for gpu in nodes[0].devices] == [0, 1]
    assert nodes[0].host is not None
    assert nodes[0].host.cpus == 8


def test_a_gpu_can_be_lost_and_foreign_work_appear_through_the_shared_state(
    tmp_path: Path, clock: FakeClock
) -> None:
    ours, theirs = opened(tmp_path, clock).devices[0], opened(tmp_path, clock).devices[0]
    with theirs.state() as state:
        state.foreign_pids = [4242]
    assert ours.processes() == {4242}
    with theirs.state() as state:
        state.lost = True
    with pytest.raises(DeviceLostError):
        ours.read()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "lacks 'gpus'"),
        ("gpus = 3", "not iterable"),
        ("[[gpus]]\ntype = 'A'", "lacks 'clocks_mhz'"),
        ("not toml", "Expected '='"),
        (TWO_GPUS.replace("[510, 810, 1110, 1410]", "[]"), "needs clocks"),
        (TWO_GPUS.replace("count = 2", "count = 0"), "needs clocks, a count"),
        (TWO_GPUS.replace("idle_w = 55", "idle_w = 400"), "idle_w must lie below max_w"),
        (TWO_GPUS.replace("peak_w = 600", "peek_w = 600"), "peek_w"),
    ],
)
def test_a_faulty_catalogue_is_one_clear_error(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "node.toml"
    file.write_text(text)
    with pytest.raises(DevicesError) as error:
        catalogue.load(file)
    assert problem in str(error.value)
    assert str(file) in str(error.value)


@pytest.mark.parametrize("choice", ["cuda", "emulated", "emulated:", "nvml:x", "emulated:/none"])
def test_a_choice_of_devices_that_is_none_is_refused(tmp_path: Path, choice: str) -> None:
    with pytest.raises(DevicesError):
        open_devices(choice, state_dir=tmp_path, node="n", boot_id="b", clock=FakeClock())


def test_a_node_that_is_off_draws_nothing_and_boots_before_it_works(
    tmp_path: Path, clock: FakeClock
) -> None:
    file = tmp_path / "node.toml"
    file.write_text(TWO_GPUS.replace("peak_w = 600", "peak_w = 600\nboot_s = 30"))
    node = EmulatedSet(catalogue.load(file), tmp_path / "state", "node-1", "boot", clock)
    gpu = node.devices[0]
    before = gpu.read()
    assert before.power_mw > 0
    assert node.power is Power.ON

    node.switch(on=False)
    clock.now_s += 1000
    off = gpu.read()
    assert (off.power_mw, off.energy_mj, node.power) == (0, before.energy_mj, Power.OFF)

    node.switch(on=True)
    node.switch(on=True)
    assert (gpu.read().power_mw, node.power) == (before.power_mw, Power.BOOTING)
    clock.now_s += 30
    assert node.power is Power.ON
