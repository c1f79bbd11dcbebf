"""Point tables and fitted models become the tensors that policies read."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from jobs.profiling.performance.application import Application, Behaviour
from jobs.profiling.performance.gpu_power import PowerModel
from jobs.profiling.performance.points import Point
from jobs.profiling.performance.throughput import ThroughputModel
from policies.contract.columns import F64
from policies.contract.snapshot import ProfileTable

AnyModel = TypeVar("AnyModel", ThroughputModel, PowerModel)


def profile_table(
    ids: ArrayLike,
    applications: Sequence[Application],
    gpu_type_names: Sequence[str],
    *,
    gpu_counts: Sequence[int],
    clocks_mhz: ArrayLike,
    cpus_per_gpu: Sequence[float] = (),
    mem_mib_per_gpu: Sequence[float] = (),
) -> ProfileTable:
    """`clocks_mhz` has a row of ascending clocks per GPU type, 0 in front where a type has fewer.

    A measured point stands in its own cell; a fitted model fills the others; nan is not known.
    """
    clocks = np.asarray(clocks_mhz, np.float64).reshape(len(gpu_type_names), -1)
    counts = np.asarray(gpu_counts, np.float64)
    shape = (len(applications), len(gpu_type_names), len(counts), clocks.shape[1])
    throughput, watts = np.full(shape, np.nan), np.full(shape, np.nan)
    for kind, name in enumerate(gpu_type_names):
        cells = _Cells(throughput[:, kind], watts[:, kind], counts, clocks[kind])
        cells.fill_models(applications, name)
        cells.fill_points(applications, name)
    return ProfileTable.of(
        id=ids,
        gpu_counts=gpu_counts,
        clocks_mhz=clocks,
        throughput=throughput,
        watts_per_gpu=watts,
        cpus_per_gpu=cpus_per_gpu,
        mem_mib_per_gpu=mem_mib_per_gpu,
        relative_speed=_relative_speeds(applications, cpus_per_gpu, mem_mib_per_gpu),
        mem_told=[
            one.sensitivity is not None and one.sensitivity.tells_memory for one in applications
        ],
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """The tensors of one GPU type: application, count, clock."""

    throughput: F64
    watts: F64
    counts: F64
    clocks: F64

    def fill_models(self, applications: Sequence[Application], name: str) -> None:
        """All models at once: a column of parameters against rows of counts and clocks."""
        rows, models, powers = [], [], []
        for row, one in enumerate(applications):
            behaviour = one.behaviours.get(name, Behaviour())
            if behaviour.throughput is not None:
                rows.append(row)
                models.append(behaviour.throughput.model)
                powers.append(behaviour.power.model if behaviour.power else _UNKNOWN)
        if not rows:
            return
        gpus, mhz = self.counts[None, :, None], self.clocks[None, None, :]
        batch = np.array([applications[row].batch for row in rows])[:, None, None]
        grows = np.array([applications[row].grows for row in rows])[:, None, None]
        per_gpu = np.where(grows, batch, batch / gpus)
        model = _stacked(models)
        steps_per_s = model.steps_per_s(gpus, mhz, per_gpu) * np.where(grows, gpus, 1.0)
        busy = model.busy_share(gpus, mhz, per_gpu)
        real = np.broadcast_to(mhz > 0, steps_per_s.shape)
        self.throughput[rows] = np.where(real, steps_per_s, np.nan)
        self.watts[rows] = np.where(real, _stacked(powers).watts(mhz, per_gpu, busy), np.nan)

    def fill_points(self, applications: Sequence[Application], name: str) -> None:
        """The weighted mean of what was measured in a cell."""
        points = list(self._points(applications, name))
        for target, value in ((self.throughput, "steps_per_s"), (self.watts, "watts_per_gpu")):
            total, summed = np.zeros_like(target), np.zeros_like(target)
            for cell, point in points:
                if not math.isnan(told := getattr(point, value)):
                    total[cell] += point.weight
                    summed[cell] += point.weight * told
            known = total > 0
            target[known] = summed[known] / total[known]

    def _points(
        self, applications: Sequence[Application], name: str
    ) -> Iterator[tuple[tuple[int, int, int], Point]]:
        at_count = {int(count): at for at, count in enumerate(self.counts)}
        at_clock = {int(mhz): at for at, mhz in enumerate(self.clocks) if mhz > 0}
        # A point without a clock was measured unlocked: at the highest.
        at_clock[0] = len(self.clocks) - 1
        for row, one in enumerate(applications):
            for point in one.behaviours.get(name, Behaviour()).points:
                count, clock = at_count.get(point.gpus), at_clock.get(int(point.clock_mhz))
                if count is not None and clock is not None and one.describes(point):
                    yield (row, count, clock), point


def _relative_speeds(
    applications: Sequence[Application], cpus: Sequence[float], mem_mib: Sequence[float]
) -> F64:
    """Of an application whose CPUs were never varied nothing is known, not that one is enough."""
    speeds = np.full((len(applications), len(cpus), len(mem_mib)), np.nan)
    for row, one in enumerate(applications):
        if one.sensitivity is not None and speeds.size:
            speeds[row] = one.sensitivity.matrix(cpus, mem_mib)
    return speeds


def _stacked(models: Sequence[AnyModel]) -> AnyModel:
    """One model whose parameters are columns: it answers for all of them at once."""
    first = models[0]
    columns: dict[str, Any] = {
        field.name: np.array([getattr(model, field.name) for model in models])[:, None, None]
        for field in fields(first)
    }
    return type(first)(**columns)


_UNKNOWN = PowerModel(p0=math.nan, q0=math.nan)
