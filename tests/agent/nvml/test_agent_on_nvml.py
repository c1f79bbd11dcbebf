"""A whole agent on the real NVML path: what happens on the GPUs reaches the service."""

import subprocess
import sys
from pathlib import Path

from agent.wire import State
from tests.agent.conftest import Ground, attempt
from tests.agent.nvml.driver import Driver
from tests.agent.service import ScriptedService, until

UUID = "GPU-0a0b0c0d-0000-4000-8000-000000000000"


def test_gpus_of_a_running_node(
    ground: Ground, service: ScriptedService, driver: Driver, library: Path
) -> None:
    driver.let_time_run()
    # The library directory alone makes the loader find our driver, as it would a real one.
    agent = ground.agent(
        LD_LIBRARY_PATH=str(library.parent), FAKE_NVML_STATE=str(driver.path)
    ).start("--devices", "nvml")
    until(lambda: service.syncs, "a first sync")
    assert service.registers[0].inventory.driver == "575.57.08"

    stranger = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    driver.put_processes(0, [stranger.pid])
    until(lambda: service.gpus[UUID].foreign_pids == (stranger.pid,), "the foreign process")
    stranger.communicate(b"\n")
    driver.put_processes(0, [])

    service.want(attempt(gpu_uuids=(UUID,), clock_mhz=810, power_cap_w=200))
    until(lambda: 7 in service.latest and service.latest[7].state is State.RUNNING, "it running")
    assert (driver.gpu().lock_mhz, driver.gpu().limit_mw) == (810, 200_000)
    (pid,) = until(lambda: agent.job_pids(7), "its process")
    driver.put_processes(0, [pid])
    _syncs(service)
    assert service.gpus[UUID].foreign_pids == ()

    driver.gpu().refuse_control = 1
    service.adjust(7, clock_mhz=1110)
    until(lambda: service.gpus[UUID].control_refusal, "the driver's refusal")
    assert service.gpus[UUID].clock_mhz == 810
    driver.gpu().refuse_control = 0

    before_mj = service.gpus[UUID].energy_mj or 0
    driver.gpu().energy_uj = 0
    _syncs(service)
    assert (service.gpus[UUID].energy_mj or 0) >= before_mj

    driver.put_processes(0, [])
    service.cancel(7, "done")
    until(lambda: 7 in service.ended, "its end")
    assert (driver.gpu().lock_mhz, driver.gpu().limit_mw) == (0, 400_000)

    driver.gpu().lost = 1
    until(lambda: not service.gpus[UUID].healthy, "the GPU reported lost")
    assert service.gpus[UUID].health_reason == "GPU is lost"
    assert agent.running.poll() is None


def _syncs(service: ScriptedService) -> None:
    count = len(service.syncs)
    until(lambda: len(service.syncs) > count + 2, "more syncs")
