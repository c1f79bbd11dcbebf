"""The fitted GPU types and example applications that ship with the project."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from jobs.profiling.fitting.behaviour import GpuLimits
from jobs.profiling.performance.application import Application, Behaviour
from jobs.profiling.performance.fit import Fit, FittedRange
from jobs.profiling.performance.gpu_power import PowerModel
from jobs.profiling.performance.sensitivity import Sensitivity
from jobs.profiling.performance.throughput import ThroughputModel
from jobs.profiling.tensors import profile_table
from policies.contract.snapshot import ProfileTable

FITTED = Path(__file__).parent / "fitted"
POWERS_OF_TWO = (1, 2, 4, 8, 16, 32, 64, 128)


class FittedGpuType(msgspec.Struct, frozen=True, kw_only=True):
    """`power_error` is the mean relative error of watts at points left out of the fit;
    `gpus_per_node` counts those that are joined most closely.
    """

    name: str
    idle_w: float
    max_w: float
    clocks_mhz: tuple[int, ...]
    mem_mib: int
    gpus_per_node: int = 8
    source: str = ""
    power_error: float | None = None

    def limits(self) -> GpuLimits:
        return GpuLimits(
            idle_w=self.idle_w,
            max_w=self.max_w,
            highest_mhz=self.clocks_mhz[-1],
            lowest_mhz=self.clocks_mhz[0],
            gpus_per_node=self.gpus_per_node,
        )


class FittedModel(msgspec.Struct, frozen=True, kw_only=True):
    """Errors are relative: mean and worst at the fitted points, and at points left out."""

    parameters: dict[str, float]
    ranges: dict[str, tuple[float, float]]
    spread: float
    points: int
    mean_error: float
    worst_error: float
    left_out_mean_error: float | None = None
    left_out_worst_error: float | None = None


class FittedBehaviour(msgspec.Struct, frozen=True, kw_only=True):
    gpu_type: str
    throughput: FittedModel
    power: FittedModel | None = None


class FittedSensitivity(msgspec.Struct, frozen=True, kw_only=True):
    cpus: tuple[float, ...]
    cached_s: tuple[float, ...]
    fetch_s: float
    dataset_mib: float
    reference_cpus: float
    reference_mem_mib: float
    least_mem_mib: float = 0.0
    starved_speed: float = 0.1


class FittedApplication(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    batch: float
    source: str
    grows: bool = False
    behaviours: tuple[FittedBehaviour, ...] = ()
    sensitivity: FittedSensitivity | None = None

    def application(self) -> Application:
        known = self.sensitivity
        return Application(
            name=self.name,
            batch=self.batch,
            grows=self.grows,
            behaviours={one.gpu_type: _behaviour(one) for one in self.behaviours},
            sensitivity=Sensitivity(**msgspec.structs.asdict(known)) if known else None,
        )


@cache
def load_gpu_types() -> dict[str, FittedGpuType]:
    text = (FITTED / "gpu_types.json").read_bytes()
    return {one.name: one for one in msgspec.json.decode(text, type=list[FittedGpuType])}


@cache
def load_fitted() -> tuple[FittedApplication, ...]:
    text = (FITTED / "applications.json").read_bytes()
    return msgspec.json.decode(text, type=tuple[FittedApplication, ...])


def load_applications(gpu_type: str | None = None) -> list[Application]:
    """The example applications; those known on one GPU type, if it is given."""
    known = [one.application() for one in load_fitted()]
    return [one for one in known if gpu_type is None or gpu_type in one.behaviours]


def clock_steps(gpu_type: str, steps: int) -> list[int]:
    """So many of a GPU type's clocks, evenly from its lowest to its highest."""
    clocks = load_gpu_types()[gpu_type].clocks_mhz
    chosen = np.linspace(0, len(clocks) - 1, min(steps, len(clocks))).round().astype(int)
    return [clocks[at] for at in chosen.tolist()]


def example_table(
    gpu_type: str = "A100",
    *,
    names: Sequence[str] = (),
    gpu_counts: Sequence[int] = POWERS_OF_TWO,
    clocks_mhz: Sequence[int] = (),
) -> tuple[list[Application], ProfileTable]:
    """The applications of a GPU type (all, or those named) and their tensors; ids are rows.

    Without clocks: nine, evenly spaced. The counts and clocks may reach past what was measured;
    `Application.predict` says where they do.
    """
    known = {one.name: one for one in load_applications(gpu_type)}
    chosen = [known[name] for name in names] if names else list(known.values())
    table = profile_table(
        np.arange(len(chosen)),
        chosen,
        [gpu_type],
        gpu_counts=gpu_counts,
        clocks_mhz=[list(clocks_mhz) or clock_steps(gpu_type, 9)],
    )
    return chosen, table


def _behaviour(given: FittedBehaviour) -> Behaviour:
    speed, power = given.throughput, given.power
    return Behaviour(
        throughput=Fit(model=ThroughputModel(**speed.parameters), **_about(speed)),
        power=Fit(model=PowerModel(**power.parameters), **_about(power)) if power else None,
    )


def _about(given: FittedModel) -> dict[str, Any]:
    return {
        "parameters": given.parameters,
        "residuals": np.array([given.mean_error, given.worst_error]),
        "points": given.points,
        "ranges": {axis: FittedRange(*ends) for axis, ends in given.ranges.items()},
        "spread": given.spread,
    }
