"""Point tables and fitted models become the tensors that policies read."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from policies.contract.columns import F64
from policies.contract.snapshot import ProfileTable
from policies.performance.application import Application, Behaviour
from policies.performance.gpu_power import PowerModel
from policies.performance.throughput import ThroughputModel

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
    _fill_neutral(throughput, applications, counts)
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
        rows = list(self._points(applications, name))
        if not rows:
            return
        at, told = np.array([row[:3] for row in rows]), np.array([row[3:] for row in rows])
        flat = np.ravel_multi_index(tuple(at.T), self.throughput.shape)
        weight, steps_per_s, watts = told.T
        drawn = ~np.isnan(watts)
        for target, values, which in (
            (self.throughput, steps_per_s, np.ones_like(drawn)),
            (self.watts, watts, drawn),
        ):
            size = target.size
            total = np.bincount(flat[which], weight[which], minlength=size)
            summed = np.bincount(flat[which], (weight * values)[which], minlength=size)
            known = (total > 0).reshape(target.shape)
            target[known] = summed[total > 0] / total[total > 0]

    def _points(
        self, applications: Sequence[Application], name: str
    ) -> Iterator[tuple[float, ...]]:
        at_count = {int(count): at for at, count in enumerate(self.counts)}
        at_clock = {int(mhz): at for at, mhz in enumerate(self.clocks) if mhz > 0}
        # A point without a clock was measured unlocked: at the highest.
        at_clock[0] = len(self.clocks) - 1
        for row, one in enumerate(applications):
            for point in one.behaviours.get(name, Behaviour()).points:
                count, clock = at_count.get(point.gpus), at_clock.get(int(point.clock_mhz))
                if count is not None and clock is not None and one.describes(point):
                    yield (row, count, clock, point.weight, point.steps_per_s, point.watts_per_gpu)


def _fill_neutral(throughput: F64, applications: Sequence[Application], counts: F64) -> None:
    rows = [row for row, one in enumerate(applications) if one.neutral]
    if rows:
        asked = np.array([applications[row].asked_gpus for row in rows], np.float64)
        throughput[rows] = counts[None, None, :, None] / asked[:, None, None, None]


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
