"""An application: how it behaves on every GPU type that is known, and what it would do where."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

import numpy as np

from jobs.profiling.performance.fit import LEAST_SPREAD, WIDE_SPREAD, Fit
from jobs.profiling.performance.gpu_power import PowerModel
from jobs.profiling.performance.points import Point
from jobs.profiling.performance.sensitivity import Sensitivity
from jobs.profiling.performance.throughput import ThroughputModel

Source = Literal["measured", "fitted", "neutral"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What a profile says of one configuration, how sure it is, and where it got that from.

    `leaves` names the axes on which the configuration lies outside what was measured.
    nan is not known. `low` and `high` bound steps per second, `low_w` and `high_w` the watts.
    """

    steps_per_s: float
    low: float
    high: float
    watts_per_gpu: float = math.nan
    low_w: float = math.nan
    high_w: float = math.nan
    source: Source
    leaves: tuple[str, ...] = ()

    @property
    def extrapolated(self) -> bool:
        return bool(self.leaves)


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """On one GPU type: measured points, and what was fitted to them."""

    points: tuple[Point, ...] = ()
    throughput: Fit[ThroughputModel] | None = None
    power: Fit[PowerModel] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """`batch` is the whole job's, shared among its GPUs; if it `grows`, every GPU has its own.

    A step is one batch: a job whose batch grows makes as many steps an iteration as it has GPUs.
    An application without any behaviour is neutral: its speed is its number of GPUs, whatever
    their type.
    """

    name: str
    batch: float = 1.0
    grows: bool = False
    behaviours: Mapping[str, Behaviour] = field(default_factory=dict)
    sensitivity: Sensitivity | None = None

    @property
    def neutral(self) -> bool:
        return not self.behaviours

    def batch_per_gpu(self, gpus: float) -> float:
        return self.batch if self.grows else self.batch / gpus

    def describes(self, point: Point) -> bool:
        """Whether a point is of this application's own batch."""
        return _same_batch(point, self.batch_per_gpu(point.gpus))

    def predict(
        self,
        gpu_type: str,
        gpus: int,
        clock_mhz: float = 0.0,
        *,
        cpus_per_gpu: float = math.nan,
        mem_mib_per_gpu: float = math.nan,
    ) -> Prediction:
        behaviour = self.behaviours.get(gpu_type)
        if behaviour is None or (behaviour.throughput is None and not behaviour.points):
            return self._unknown(gpus)
        at = _Configuration(gpus, clock_mhz, self.batch_per_gpu(gpus))
        found = _measured(behaviour, at) or _modelled(behaviour, at, self.grows)
        if found is None:
            return self._unknown(gpus)
        by = self._relative_speed(cpus_per_gpu, mem_mib_per_gpu)
        if by >= 1.0:
            return _scaled(found, by)
        # A batch takes the longer of computing and getting its data, and every GPU brings the same
        # share of CPUs: what is slower by its clock or its synchronising anyway loses less.
        alone = _Configuration(1, 0.0, self.batch_per_gpu(1))
        one = _measured(behaviour, alone) or _modelled(behaviour, alone, self.grows)
        data_per_s = by * (one.steps_per_s * gpus if one else found.steps_per_s)
        return _starved(found, behaviour, at, min(1.0, data_per_s / found.steps_per_s))

    def _unknown(self, gpus: int) -> Prediction:
        """Nothing is known of this GPU type: of other types only that it says nothing of this."""
        speed = float(gpus) if self.neutral else math.nan
        leaves = () if self.neutral else ("gpu_type",)
        return _prediction("neutral", _around(speed, WIDE_SPREAD), leaves=leaves)

    def _relative_speed(self, cpus_per_gpu: float, mem_mib_per_gpu: float) -> float:
        known = self.sensitivity
        if known is None or math.isnan(cpus_per_gpu):
            return 1.0
        memory = known.reference_mem_mib if math.isnan(mem_mib_per_gpu) else mem_mib_per_gpu
        return float(known.relative_speed(cpus_per_gpu, memory))


def _same_batch(point: Point, batch_per_gpu: float) -> bool:
    told = point.batch_per_gpu
    return math.isnan(told) or math.isclose(told, batch_per_gpu, rel_tol=1e-6)


class _Configuration(NamedTuple):
    gpus: int
    clock_mhz: float
    batch_per_gpu: float

    def axes(self, reference_mhz: float) -> dict[str, float]:
        return {**self._asdict(), "clock_mhz": self.clock_mhz or reference_mhz}

    def is_of(self, point: Point, reference_mhz: float) -> bool:
        mine, its = self.clock_mhz or reference_mhz, point.clock_mhz or reference_mhz
        return (self.gpus, mine) == (point.gpus, its) and _same_batch(point, self.batch_per_gpu)


_Interval = tuple[float, float, float]
"""A value, the least and the most that it may be."""
_UNKNOWN: _Interval = (math.nan, math.nan, math.nan)


def _prediction(
    source: Source, speed: _Interval, watts: _Interval = _UNKNOWN, leaves: tuple[str, ...] = ()
) -> Prediction:
    (steps_per_s, low, high), (watts_per_gpu, low_w, high_w) = speed, watts
    return Prediction(
        steps_per_s=steps_per_s,
        low=low,
        high=high,
        watts_per_gpu=watts_per_gpu,
        low_w=low_w,
        high_w=high_w,
        source=source,
        leaves=leaves,
    )


def _measured(behaviour: Behaviour, at: _Configuration) -> Prediction | None:
    """The weighted mean of what was measured just there."""
    reference_mhz = behaviour.throughput.model.reference_mhz if behaviour.throughput else 0.0
    points = [point for point in behaviour.points if at.is_of(point, reference_mhz)]
    if not points:
        return None
    drawn = [(p.watts_per_gpu, p.weight) for p in points if not math.isnan(p.watts_per_gpu)]
    watts = _mean(drawn) if drawn else _watts(behaviour, at)
    return _prediction("measured", _mean([(p.steps_per_s, p.weight) for p in points]), watts)


def _modelled(behaviour: Behaviour, at: _Configuration, grows: bool) -> Prediction | None:
    fit = behaviour.throughput
    if fit is None:
        return None
    axes = at.axes(fit.model.reference_mhz)
    per_s = float(fit.model.steps_per_s(*at)) * (at.gpus if grows else 1)
    speed = per_s, *fit.interval(per_s, **axes)
    return _prediction("fitted", speed, _watts(behaviour, at), fit.leaves(**axes))


def _watts(behaviour: Behaviour, at: _Configuration) -> _Interval:
    power, throughput = behaviour.power, behaviour.throughput
    if power is None or throughput is None:
        return _UNKNOWN
    watts = float(power.model.watts(*at[1:], throughput.model.busy_share(*at)))
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
    model, busy = behaviour.power.model, behaviour.throughput.model.busy_share(*at)
    less = float(model.watts(*at[1:], busy * by) / model.watts(*at[1:], busy))
    return replace(
        slower,
        watts_per_gpu=found.watts_per_gpu * less,
        low_w=max(found.low_w * less, model.idle_w),
        high_w=found.high_w * less,
    )


def _mean(weighted: Sequence[tuple[float, float]]) -> _Interval:
    """The mean of values with their weights, within two standard errors."""
    values, weights = zip(*weighted, strict=True)
    mean = float(np.average(values, weights=weights))
    error = 2.0 * float(np.std(values)) / mean / math.sqrt(len(values))
    return _around(mean, max(error, LEAST_SPREAD))


def _around(value: float, spread: float) -> _Interval:
    """`spread` is a logarithm."""
    return value, value / math.exp(spread), value * math.exp(spread)
