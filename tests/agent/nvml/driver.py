"""The state behind our libnvidia-ml.so.1, as tests see and change it."""

import ctypes
import mmap
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("nvml.c")
LIBRARY = "libnvidia-ml.so.1"


class DriverGpu(ctypes.Structure):
    """Field by field the gpu_t of nvml.c."""

    _fields_ = (
        ("uuid", ctypes.c_char * 80),
        ("name", ctypes.c_char * 96),
        ("energy_uj", ctypes.c_uint64),
        ("updated_ns", ctypes.c_uint64),
        ("memory_total", ctypes.c_uint64),
        ("memory_used", ctypes.c_uint64),
        ("idle_mw", ctypes.c_uint32),
        ("max_mw", ctypes.c_uint32),
        ("min_limit_mw", ctypes.c_uint32),
        ("default_limit_mw", ctypes.c_uint32),
        ("limit_mw", ctypes.c_uint32),
        ("load_pct", ctypes.c_uint32),
        ("temperature_c", ctypes.c_uint32),
        ("max_clock_mhz", ctypes.c_uint32),
        ("lock_mhz", ctypes.c_uint32),
        ("pids", ctypes.c_uint32 * 8),
        ("pid_count", ctypes.c_uint32),
        ("lost", ctypes.c_uint32),
        ("refuse_control", ctypes.c_uint32),
        ("no_counter", ctypes.c_uint32),
        ("old_temperature", ctypes.c_uint32),
        ("spare", ctypes.c_uint32),
    )


class DriverState(ctypes.Structure):
    _fields_ = (
        ("manual_ns", ctypes.c_uint64),
        ("count", ctypes.c_uint32),
        ("spare", ctypes.c_uint32),
        ("gpus", DriverGpu * 8),
    )


class Driver:
    """Two A100s; time stands still unless a test moves it or lets it run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.write_bytes(bytes(ctypes.sizeof(DriverState)))
        with path.open("r+b") as file:
            self._mapped = mmap.mmap(file.fileno(), 0)
        self.state = DriverState.from_buffer(self._mapped)
        self.state.manual_ns = 1_000_000_000
        self.state.count = 2
        for index in range(2):
            gpu = self.gpu(index)
            gpu.uuid = f"GPU-0a0b0c0d-0000-4000-8000-00000000000{index}".encode()
            gpu.name = b"NVIDIA A100-SXM4-80GB"
            gpu.memory_total, gpu.memory_used = 80 << 30, 1 << 30
            gpu.idle_mw, gpu.max_mw, gpu.min_limit_mw = 55_000, 400_000, 100_000
            gpu.default_limit_mw = gpu.limit_mw = 400_000
            gpu.max_clock_mhz, gpu.temperature_c = 1410, 41
            gpu.updated_ns = self.state.manual_ns

    def gpu(self, index: int = 0) -> DriverGpu:
        gpu: DriverGpu = self.state.gpus[index]
        return gpu

    def pass_time(self, seconds: float) -> None:
        self.state.manual_ns += round(seconds * 1e9)

    def let_time_run(self) -> None:
        for index in range(2):
            self.gpu(index).updated_ns = 0
        self.state.manual_ns = 0

    def put_processes(self, index: int, pids: list[int]) -> None:
        gpu = self.gpu(index)
        for position, pid in enumerate(pids):
            gpu.pids[position] = pid
        gpu.pid_count = len(pids)


def build(directory: Path) -> Path:
    """Compile the library; its soname is what pynvml asks the loader for."""
    library = directory / LIBRARY
    warnings = ("-Wall", "-Wextra", "-Werror", "-O1")
    subprocess.run(
        ["gcc", "-shared", "-fPIC", *warnings, f"-Wl,-soname,{LIBRARY}", "-o", library, SOURCE],
        check=True,
    )
    return library
