"""An application: how it behaves on every GPU type that is known, and what it would do where."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from policies.performance.fit import LEAST_SPREAD, WIDE_SPREAD, Fit
from policies.performance.fitting import CLOCK_BOUND, fit_power, fit_throughput
from policies.performance.gpu_power import PowerModel
from policies.performance.points import Point, point_problems, refuse
from policies.performance.prediction import Prediction
from policies.performance.sensitivity import Sensitivity
from policies.performance.throughput import ThroughputModel


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuLimits:
    """What a GPU type's data sheet says; 0 and infinity are not known."""

    idle_w: float = 0.0
    max_w: float = math.inf
    highest_mhz: float = 0.0
    lowest_mhz: float = 0.0
    gpus_per_node: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """On one GPU type: measured points, and what was fitted to them."""

    points: tuple[Point, ...] = ()
    throughput: Fit[ThroughputModel] | None = None
    power: Fit[PowerModel] | None = None

    @classmethod
    def fitted(
        cls,
        points: Sequence[Point],
        limits: GpuLimits | None = None,
        *,
        batch: float = 1.0,
        grows: bool = False,
        clock_bound: float = CLOCK_BOUND,
        starved: Sequence[Point] = (),
    ) -> Self:
        """`batch` is that of every point that does not tell its own; see `Application`. `starved`
        points waited for data: they tell nothing of how fast GPUs are, but what waiting draws.
        """
        refuse(point_problems(points))
        limits = limits or GpuLimits()
        points, starved = (
            [_with_batch(point, batch if grows else batch / point.gpus) for point in some]
            for some in (points, starved)
        )
        throughput = fit_throughput(
            points,
            reference_mhz=limits.highest_mhz,
            gpus_per_node=limits.gpus_per_node,
            clock_bound=clock_bound,
            grows=grows,
        )
        power = None
        drawn = [point for point in (*points, *starved) if not math.isnan(point.watts_per_gpu)]
        if drawn:
            power = fit_power(
                drawn,
                throughput=throughput.model,
                idle_w=limits.idle_w,
                max_w=limits.max_w,
                reference_mhz=limits.highest_mhz,
                lowest_mhz=limits.lowest_mhz,
                grows=grows,
            )
        return cls(points=tuple(points), throughput=throughput, power=power)


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """`batch` is the whole job's, shared among its GPUs; if it `grows`, every GPU has its own.

    A step is one batch: a job whose batch grows makes as many steps an iteration as it has GPUs.
    An application without any behaviour is neutral: its speed is 1 on `asked_gpus`, in proportion
    to the GPUs, whatever their type.
    """

    name: str
    batch: float = 1.0
    grows: bool = False
    behaviours: Mapping[str, Behaviour] = field(default_factory=dict)
    sensitivity: Sensitivity | None = None
    asked_gpus: int = 1

    @classmethod
    def fitted(
        cls,
        name: str,
        points: Mapping[str, Sequence[Point]],
        limits: Mapping[str, GpuLimits] | None = None,
        *,
        batch: float = 1.0,
        grows: bool = False,
        sensitivity: Sensitivity | None = None,
    ) -> Self:
        """From measured points by GPU type; raises FitRefused where they cannot be believed."""
        known = limits or {}
        behaviours = {
            gpu_type: Behaviour.fitted(its, known.get(gpu_type), batch=batch, grows=grows)
            for gpu_type, its in points.items()
        }
        return cls(
            name=name, batch=batch, grows=grows, behaviours=behaviours, sensitivity=sensitivity
        )

    @property
    def neutral(self) -> bool:
        return not self.behaviours

    def batch_per_gpu(self, gpus: float) -> float:
        return self.batch if self.grows else self.batch / gpus

    def describes(self, point: Point) -> bool:
        """Whether a point is of this application's own batch, on as few nodes as hold it."""
        own = self.batch_per_gpu(point.gpus)
        told = point.batch_per_gpu
        return point.nodes == 0 and (math.isnan(told) or math.isclose(told, own, rel_tol=1e-6))

    def predict(
        self,
        gpu_type: str,
        gpus: int,
        clock_mhz: float = 0.0,
        *,
        cpus_per_gpu: float = math.nan,
        mem_mib_per_gpu: float = math.nan,
        nodes: int = 0,
    ) -> Prediction:
        behaviour = self.behaviours.get(gpu_type)
        if behaviour is None or (behaviour.throughput is None and not behaviour.points):
            return self._unknown(gpus)
        at = _Configuration(gpus, clock_mhz, self.batch_per_gpu(gpus), nodes)
        found = _measured(behaviour, at) or _modelled(behaviour, at, self.grows)
        if found is None:
            return self._unknown(gpus)
        by = self._relative_speed(cpus_per_gpu, mem_mib_per_gpu)
        if by >= 1.0:
            return _scaled(found, by)
        # A batch takes the longer of computing and getting its data, and every GPU brings the same
        # share of CPUs: what is slower by its clock or its synchronising anyway loses less.
        alone = _Configuration(1, 0.0, self.batch_per_gpu(1), 0)
        one = _measured(behaviour, alone) or _modelled(behaviour, alone, self.grows)
        data_per_s = by * (one.steps_per_s * gpus if one else found.steps_per_s)
        return _starved(found, behaviour, at, min(1.0, data_per_s / found.steps_per_s))

    def _unknown(self, gpus: int) -> Prediction:
        """Nothing is known of this GPU type: of other types only that it says nothing of this."""
        speed = gpus / self.asked_gpus if self.neutral else math.nan
        factor = math.exp(WIDE_SPREAD)
        return Prediction(
            steps_per_s=speed,
            low=speed / factor,
            high=speed * factor,
            source="neutral",
            leaves=() if self.neutral else ("gpu_type",),
        )

    def _relative_speed(self, cpus_per_gpu: float, mem_mib_per_gpu: float) -> float:
        known = self.sensitivity
        if known is None or math.isnan(cpus_per_gpu):
            return 1.0
        memory = known.reference_mem_mib if math.isnan(mem_mib_per_gpu) else mem_mib_per_gpu
        return float(known.relative_speed(cpus_per_gpu, memory))


def _with_batch(point: Point, batch_per_gpu: float) -> Point:
    told = not math.isnan(point.batch_per_gpu)
    return point if told else replace(point, batch_per_gpu=batch_per_gpu)


@dataclass(frozen=True, slots=True)
class _Configuration:
    gpus: int
    clock_mhz: float
    batch_per_gpu: float
    nodes: int

    def axes(self, reference_mhz: float) -> dict[str, float]:
        axes = {
            "gpus": float(self.gpus),
            "clock_mhz": self.clock_mhz or reference_mhz,
            "batch_per_gpu": self.batch_per_gpu,
        }
        return {**axes, "nodes": float(self.nodes)} if self.nodes else axes

    def is_of(self, point: Point, reference_mhz: float) -> bool:
        mine, its = self.clock_mhz or reference_mhz, point.clock_mhz or reference_mhz
        same_batch = math.isnan(point.batch_per_gpu) or math.isclose(
            point.batch_per_gpu, self.batch_per_gpu, rel_tol=1e-6
        )
        return (self.gpus, self.nodes, mine) == (point.gpus, point.nodes, its) and same_batch


def _measured(behaviour: Behaviour, at: _Configuration) -> Prediction | None:
    """The weighted mean of what was measured just there."""
    reference_mhz = behaviour.throughput.model.reference_mhz if behaviour.throughput else 0.0
    points = [point for point in behaviour.points if at.is_of(point, reference_mhz)]
    if not points:
        return None
    speed, spread = _mean([p.steps_per_s for p in points], [p.weight for p in points])
    drawn = [point for point in points if not math.isnan(point.watts_per_gpu)]
    watts, watts_spread = _mean([p.watts_per_gpu for p in drawn], [p.weight for p in drawn])
    if math.isnan(watts) and behaviour.power and behaviour.throughput:
        watts, low_w, high_w = _watts(behaviour.power, behaviour.throughput, at)
    else:
        low_w, high_w = watts / math.exp(watts_spread), watts * math.exp(watts_spread)
    return Prediction(
        steps_per_s=speed,
        low=speed / math.exp(spread),
        high=speed * math.exp(spread),
        watts_per_gpu=watts,
        low_w=low_w,
        high_w=high_w,
        source="measured",
    )


def _modelled(behaviour: Behaviour, at: _Configuration, grows: bool) -> Prediction | None:
    fit = behaviour.throughput
    if fit is None:
        return None
    axes = at.axes(fit.model.reference_mhz)
    per_s = float(fit.model.steps_per_s(at.gpus, at.clock_mhz, at.batch_per_gpu, at.nodes))
    per_s *= at.gpus if grows else 1
    low, high = fit.interval(per_s, **axes)
    watts = low_w = high_w = math.nan
    if behaviour.power is not None:
        watts, low_w, high_w = _watts(behaviour.power, fit, at)
    return Prediction(
        steps_per_s=per_s,
        low=low,
        high=high,
        watts_per_gpu=watts,
        low_w=low_w,
        high_w=high_w,
        source="fitted",
        leaves=fit.leaves(**axes),
    )


def _watts(
    power: Fit[PowerModel], throughput: Fit[ThroughputModel], at: _Configuration
) -> tuple[float, float, float]:
    busy = throughput.model.busy_share(at.gpus, at.clock_mhz, at.batch_per_gpu, at.nodes)
    watts = float(power.model.watts(at.clock_mhz, at.batch_per_gpu, busy))
    low, high = power.interval(watts, **at.axes(power.model.reference_mhz))
    return watts, max(low, power.model.idle_w), min(high, power.model.max_w)


def _scaled(found: Prediction, by: float) -> Prediction:
    return replace(
        found, steps_per_s=found.steps_per_s * by, low=found.low * by, high=found.high * by
    )


def _starved(found: Prediction, behaviour: Behaviour, at: _Configuration, by: float) -> Prediction:
    """Slower by waiting for data, in which time the GPUs draw what waiting draws."""
    slower = _scaled(found, by)
    if behaviour.power is None or behaviour.throughput is None:
        return slower
    model, axes = behaviour.power.model, (at.clock_mhz, at.batch_per_gpu)
    busy = behaviour.throughput.model.busy_share(at.gpus, *axes, at.nodes)
    less = float(model.watts(*axes, busy * by) / model.watts(*axes, busy))
    return replace(
        slower,
        watts_per_gpu=found.watts_per_gpu * less,
        low_w=max(found.low_w * less, model.idle_w),
        high_w=found.high_w * less,
    )


def _mean(values: Sequence[float], weights: Sequence[float]) -> tuple[float, float]:
    """The weighted mean, and two standard errors of it as a logarithm."""
    if not values:
        return math.nan, math.nan
    mean = float(np.average(values, weights=weights))
    error = 2.0 * float(np.std(values)) / mean / math.sqrt(len(values))
    return mean, max(error, LEAST_SPREAD)
