"""The library is compiled once and loaded before pynvml looks for one."""

import ctypes
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.devices.nvml import NvmlSet
from tests.agent.nvml.driver import Driver, build


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("no gcc: the NVML path cannot be tried without a driver library")
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def driver(library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Driver:
    # LD_LIBRARY_PATH set inside a process comes too late; a library of the same soname does not.
    ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    driver = Driver(tmp_path / "driver.state")
    monkeypatch.setenv("FAKE_NVML_STATE", str(driver.path))
    return driver


@pytest.fixture
def devices(driver: Driver) -> Iterator[NvmlSet]:
    opened = NvmlSet()
    yield opened
    opened.close()
