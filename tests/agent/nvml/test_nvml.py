"""The real NVML path, unmodified pynvml included, against a driver library of our own."""

import os
from pathlib import Path

import pytest

from agent.devices.base import ControlRefusedError, DeviceLostError, DevicesError
from agent.devices.nvml import NvmlSet, type_name
from agent.measure.gpu_controls import GpuControls, GpuSetting
from agent.measure.sampler import GpuSampler
from agent.remember.journal import Journal
from agent.wire import EnergyMethod
from tests.agent.nvml.driver import Driver


def test_the_inventory_is_what_the_driver_says(devices: NvmlSet) -> None:
    first, second = (device.inventory for device in devices.devices)
    assert devices.driver == "575.57.08"
    assert first.uuid == "GPU-0a0b0c0d-0000-4000-8000-000000000000"
    assert (first.index, second.index) == (0, 1)
    assert first.type_name == "A100-SXM4-80GB"
    assert first.memory_mib == 81920
    assert (first.idle_w, first.max_w, first.min_cap_w) == (55, 400, 100)
    assert first.clocks_mhz == (210, 810, 1110, 1410)
    assert first.energy_method is EnergyMethod.COUNTER
    assert second.pci_bus_id == "00000000:02:00.0"
    assert devices.power_caps


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("NVIDIA A100-SXM4-80GB", "A100-SXM4-80GB"),
        ("NVIDIA GeForce RTX 4090", "GeForce-RTX-4090"),
        ("Tesla V100-PCIE-16GB", "Tesla-V100-PCIE-16GB"),
        ("NVIDIA H100 80GB HBM3 (eng.)", "H100-80GB-HBM3-eng"),
    ],
)
def test_a_type_is_named_as_the_service_writes_it(name: str, written: str) -> None:
    assert type_name(name) == written


def test_a_gpu_at_work_has_no_known_idle_power(driver: Driver) -> None:
    driver.put_processes(0, [4242])
    driver.gpu().load_pct = 100
    assert NvmlSet().devices[0].inventory.idle_w == 0


def test_a_reading_has_all_the_driver_offers(driver: Driver, devices: NvmlSet) -> None:
    driver.gpu().load_pct = 100
    reading = devices.devices[0].read()
    assert reading.power_mw == 400_000
    assert reading.utilisation_pct == 100
    assert reading.memory_used_mib == 1024
    assert reading.temperature_c == 41
    assert reading.clock_mhz == 1410


def test_an_older_driver_is_asked_for_the_temperature_in_the_older_way(
    driver: Driver, devices: NvmlSet
) -> None:
    driver.gpu().old_temperature = 1
    assert devices.devices[0].read().temperature_c == 41


def test_energy_is_power_over_time_and_follows_the_clock(driver: Driver, devices: NvmlSet) -> None:
    gpu = devices.devices[0]
    driver.gpu().load_pct = 100
    start_mj = gpu.read().energy_mj or 0
    driver.pass_time(10)
    full_mj = (gpu.read().energy_mj or 0) - start_mj
    assert full_mj == 4_000_000
    gpu.lock_clock(810)
    assert gpu.read().clock_mhz == 810
    driver.pass_time(10)
    slow_mj = (gpu.read().energy_mj or 0) - start_mj - full_mj
    assert slow_mj == gpu.read().power_mw * 10
    assert slow_mj < full_mj
    gpu.unlock_clock()
    gpu.cap_power(150)
    assert gpu.read().power_mw == 150_000
    gpu.uncap_power()
    assert gpu.read().power_mw == 400_000


def test_a_refusing_driver_is_reported_in_its_own_words(driver: Driver, devices: NvmlSet) -> None:
    driver.gpu().refuse_control = 1
    gpu = devices.devices[0]
    with pytest.raises(ControlRefusedError, match="lock clock at 810 MHz: Insufficient Perm"):
        gpu.lock_clock(810)
    with pytest.raises(ControlRefusedError, match="cap power at 200 W: Insufficient Permissions"):
        gpu.cap_power(200)
    assert not NvmlSet().power_caps


def test_a_cap_the_card_does_not_take_is_refused(devices: NvmlSet) -> None:
    with pytest.raises(ControlRefusedError, match="cap power at 5 W"):
        devices.devices[0].cap_power(5)


def test_controls_keep_what_held_and_what_was_refused(
    driver: Driver, devices: NvmlSet, tmp_path: Path
) -> None:
    by_uuid = {device.inventory.uuid: device for device in devices.devices}
    uuid = devices.devices[0].inventory.uuid
    journal = Journal(tmp_path / "journal.jsonl")
    controls = GpuControls(by_uuid, journal)
    controls.apply(uuid, GpuSetting(810, 200))
    assert (driver.gpu().lock_mhz, driver.gpu().limit_mw) == (810, 200_000)
    driver.gpu().refuse_control = 1
    controls.apply(uuid, GpuSetting(1110, 200))
    assert controls.settings[uuid] == GpuSetting(810, 200)
    assert "lock clock at 1110 MHz" in controls.refusals[uuid]
    driver.gpu().refuse_control = 0
    # A later agent takes back what the journal says was set, not what was merely wanted.
    later = GpuControls(by_uuid, Journal(tmp_path / "journal.jsonl"))
    assert later.settings[uuid] == GpuSetting(810, 200)
    later.apply(uuid, GpuSetting())
    assert (driver.gpu().lock_mhz, driver.gpu().limit_mw) == (0, 400_000)


def test_a_lost_gpu_is_told_and_the_other_goes_on(
    driver: Driver, devices: NvmlSet, tmp_path: Path
) -> None:
    by_uuid = {device.inventory.uuid: device for device in devices.devices}
    sampler = GpuSampler(by_uuid, tmp_path / "meters.json", "boot", lambda: 1.0)
    sampler.sample()
    driver.gpu(0).lost = 1
    with pytest.raises(DeviceLostError, match="GPU is lost"):
        devices.devices[0].read()
    with pytest.raises(DeviceLostError):
        devices.devices[0].processes()
    sampler.sample()
    lost, whole = by_uuid
    assert sampler.latest[lost].fault == "GPU is lost"
    assert sampler.latest[lost].energy_mj is not None
    assert sampler.latest[whole].fault == ""
    assert [sample.uuid for sample in sampler.batch()] == [lost, whole, whole]


def test_a_gpu_lost_before_the_agent_started_is_left_out(driver: Driver) -> None:
    driver.gpu(0).lost = 1
    (left,) = NvmlSet().devices
    assert left.inventory.index == 1


def test_a_counter_that_starts_anew_never_makes_the_meter_fall(
    driver: Driver, devices: NvmlSet, tmp_path: Path
) -> None:
    gpu = devices.devices[0]
    uuid = gpu.inventory.uuid
    path = tmp_path / "meters.json"
    sampler = GpuSampler({uuid: gpu}, path, "boot", lambda: 1.0)
    driver.gpu().energy_uj = 9_000_000
    sampler.sample()
    driver.gpu().energy_uj = 1_000_000
    sampler.sample()
    assert [sample.energy_mj for sample in sampler.batch()] == [9_000, 10_000]
    # Another agent of the same boot goes on from there.
    sampler = GpuSampler({uuid: gpu}, path, "boot", lambda: 1.0)
    driver.gpu().energy_uj = 1_500_000
    sampler.sample()
    assert [(s.energy_mj, s.sequence) for s in sampler.batch()] == [(10_500, 3)]


def test_without_a_counter_power_is_integrated_and_marked(
    driver: Driver, devices: NvmlSet, tmp_path: Path
) -> None:
    driver.gpu().no_counter = 1
    gpu = NvmlSet().devices[0]
    assert gpu.inventory.energy_method is EnergyMethod.INTEGRATED
    now = [10.0]
    sampler = GpuSampler({gpu.inventory.uuid: gpu}, tmp_path / "m.json", "boot", lambda: now[0])
    sampler.sample()
    now[0] = 12.0
    sampler.sample()
    first, second = sampler.batch()
    assert (first.energy_mj, second.energy_mj) == (0, 110_000)
    assert second.energy_method is EnergyMethod.INTEGRATED


def test_processes_on_a_gpu_are_listed(driver: Driver, devices: NvmlSet) -> None:
    assert devices.devices[0].processes() == frozenset()
    driver.put_processes(0, [os.getpid(), 4242])
    assert devices.devices[0].processes() == {os.getpid(), 4242}


def test_no_driver_is_one_clear_error(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAKE_NVML_STATE", str(tmp_path / "none"))
    with pytest.raises(DevicesError, match="NVML: Driver Not Loaded"):
        NvmlSet()
