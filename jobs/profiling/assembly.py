"""Points of an application, at whatever clocks and CPUs, become the models that predict it.

A batch takes the longer of computing and preprocessing. So points that had CPUs enough tell how the
GPU's part depends on type, count and clock, and points that had not tell how speed depends on CPUs.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from jobs.profiling.fitting.behaviour import GpuLimits, fit_behaviour
from jobs.profiling.fitting.sensitivity import fit_sensitivity
from jobs.profiling.performance.application import Application, Behaviour
from jobs.profiling.performance.points import Point
from jobs.profiling.performance.sensitivity import Sensitivity

# With this much of the best speed, CPUs were not what held a point up.
UNHINDERED = 0.98


@dataclass(frozen=True, slots=True)
class Typed:
    """A point and the GPU type that it is of."""

    gpu_type: str
    point: Point


@dataclass(frozen=True, slots=True)
class Data:
    """What is read, per GPU; unknown data are taken to fit into memory."""

    dataset_mib: float | None = None
    step_mib: float | None = None
    storage_mib_per_s: float | None = None

    def known(self) -> dict[str, float]:
        """Only as a whole: one without the others says nothing."""
        dataset, step, storage = self.dataset_mib, self.step_mib, self.storage_mib_per_s
        if dataset is None or step is None or storage is None:
            return {}
        return {"dataset_mib": dataset, "fetch_s": step / storage}


def assembled(
    name: str, points: Sequence[Typed], limits: Mapping[str, GpuLimits], data: Data
) -> Application:
    """Raises FitRefused, whose problems point to `points`, where they make no sense."""
    curve = _Curve.swept(points)
    sensitivity = curve.sensitivity(data)
    behaviours = {
        kind: _behaviour(of_kind, limits.get(kind), sensitivity)
        for kind, of_kind in by_type(points).items()
    }
    fitted = Application(name=name, behaviours=behaviours, sensitivity=sensitivity)
    curve.learn(points, fitted)
    return replace(fitted, sensitivity=curve.sensitivity(data))


def _behaviour(
    points: Sequence[Point], limits: GpuLimits | None, sensitivity: Sensitivity | None
) -> Behaviour:
    full = unhindered(points, sensitivity)
    ids = {id(point) for point in full}
    return fit_behaviour(full, limits, starved=[p for p in points if id(p) not in ids])


def by_type(points: Iterable[Typed]) -> dict[str, list[Point]]:
    grouped: dict[str, list[Point]] = defaultdict(list)
    for one in points:
        grouped[one.gpu_type].append(one.point)
    return dict(grouped)


def unhindered(points: Sequence[Point], sensitivity: Sensitivity | None) -> tuple[Point, ...]:
    """Those with CPUs and memory enough; if there are none, what they would do if they had: how
    fast, for what they would draw is not kept.
    """
    if sensitivity is None:
        return tuple(points)
    speeds = [_relative_speed(sensitivity, point) for point in points]
    full = [point for point, by in zip(points, speeds, strict=True) if by >= UNHINDERED]
    if full:
        return tuple(full)
    return tuple(
        replace(point, steps_per_s=point.steps_per_s / by, watts_per_gpu=math.nan)
        for point, by in zip(points, speeds, strict=True)
    )


def _relative_speed(sensitivity: Sensitivity, point: Point) -> float:
    if math.isnan(point.cpus_per_gpu):
        return 1.0
    memory = point.mem_mib_per_gpu
    memory = sensitivity.reference_mem_mib if math.isnan(memory) else memory
    return float(sensitivity.relative_speed(point.cpus_per_gpu, memory))


Swept = tuple[str, int, float]


class _Curve:
    """Speed over CPUs and memory where most CPU counts were tried, all else equal."""

    def __init__(self, where: Swept | None, swept: Sequence[Point]) -> None:
        self._where, self._points = where, list(swept)

    @classmethod
    def swept(cls, points: Sequence[Typed]) -> "_Curve":
        """A single CPU count says nothing about others."""
        sweeps: dict[Swept, list[Point]] = defaultdict(list)
        for one in points:
            if not math.isnan(one.point.cpus_per_gpu):
                sweeps[_where(one)].append(one.point)
        most = max(sweeps, key=lambda where: (_counts(sweeps[where]), where), default=None)
        if most is None or _counts(sweeps[most]) < 2:
            return cls(None, ())
        return cls(most, sweeps[most])

    def learn(self, points: Sequence[Typed], fitted: Application) -> None:
        """Say the same of one GPU, and take in points elsewhere that were held up by their CPUs.

        Data come as fast as the CPUs of all GPUs together allow, however many share a batch.
        """
        if self._where is None:
            return
        here, most = fitted.predict(self._where[0], 1).steps_per_s, self._most_cpus
        kept = []
        for one in points:
            point = one.point
            swept = _where(one) == self._where
            # Neither nan nor more than were ever needed.
            if not (swept or point.cpus_per_gpu < most):
                continue
            free = fitted.predict(one.gpu_type, point.gpus, point.clock_mhz).steps_per_s
            if point.steps_per_s < UNHINDERED * free:
                alone = point.gpus * fitted.predict(one.gpu_type, 1).steps_per_s
                memory = point.mem_mib_per_gpu if swept else math.nan
                per_s = point.steps_per_s / alone * here
                kept.append(replace(point, steps_per_s=per_s, mem_mib_per_gpu=memory))
            elif swept:
                kept.append(replace(point, steps_per_s=here))
        self._points = kept

    def sensitivity(self, data: Data) -> Sensitivity | None:
        if self._where is None:
            return None
        known = data.known()
        return fit_sensitivity(self._points, reference_cpus=self._most_cpus, **known).model

    @property
    def _most_cpus(self) -> float:
        return max(point.cpus_per_gpu for point in self._points)


def _where(one: Typed) -> Swept:
    return one.gpu_type, one.point.gpus, one.point.clock_mhz


def _counts(points: Sequence[Point]) -> int:
    return len({point.cpus_per_gpu for point in points})
