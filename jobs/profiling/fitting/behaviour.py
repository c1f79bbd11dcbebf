"""Throughput and power models from measured points, by bounded least squares on relative errors.

A term that the points cannot tell keeps its usual value, and the fit's notes and ranges say so.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np

from jobs.profiling.fitting.problems import point_problems, refuse
from jobs.profiling.fitting.solving import Named, Solution, Term, ranges_of, solve, spread_of
from jobs.profiling.performance.application import Behaviour
from jobs.profiling.performance.fit import WIDE_SPREAD, Fit
from jobs.profiling.performance.gpu_power import PowerModel
from jobs.profiling.performance.points import Point
from jobs.profiling.performance.throughput import ThroughputModel, relative_clock
from policies.contract.columns import F64
from policies.value_fault import ValueFault, pointer

AnyModel = TypeVar("AnyModel", ThroughputModel, PowerModel)

# A job whose clock was never varied is taken to slow down with it entirely: the careful assumption,
# since a lower clock then never looks free.
CLOCK_BOUND = 1.0
# The part of a GPU's watts above idle that is linear in the clock where the points do not tell, the
# rest being cubic; and the part of them that a GPU draws while it waits for others.
LINEAR_SHARE = 0.3
WAITING_SHARE = 0.3
# No ratio is further from its usual value than this many e-folds.
FAR = 8.0


@dataclass(frozen=True, slots=True)
class Usual:
    """What a parameter usually is: a factor, and by how many e-folds it varies."""

    factor: float
    deviation: float

    def term(self, name: str) -> Term:
        log = math.log(self.factor)
        starts = (log, log, log - 1.0)
        low, high = log - FAR, log + FAR
        return Term(
            name=name, starts=starts, low=low, high=high, usual=log, deviation=self.deviation
        )


# Ratios that need no unit, and so are alike for very different applications. They only count where
# the points are silent; a few points overrule them.
USUAL = {
    "fixed": Usual(0.2, 1.5),  # compute that does not depend on the batch, over what does
    "inside": Usual(0.2, 1.5),  # synchronising two GPUs, over computing
    "inside_each": Usual(0.1, 1.2),  # each further GPU in the node, over the first two
    "across": Usual(1.5, 0.7),  # two GPUs on two nodes, over two on one
    "across_each": Usual(0.01, 1.5),  # each further GPU, over the first two, across nodes
    "overlap": Usual(0.5, 1.0),  # gamma less one
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuLimits:
    """What a GPU type's data sheet says; 0 and infinity are not known."""

    idle_w: float = 0.0
    max_w: float = math.inf
    highest_mhz: float = 0.0
    lowest_mhz: float = 0.0
    gpus_per_node: int = 8


def fit_behaviour(
    points: Sequence[Point], limits: GpuLimits | None = None, starved: Sequence[Point] = ()
) -> Behaviour:
    """`starved` points waited for data: they tell nothing of how fast GPUs are, but what waiting
    draws. Raises FitRefused where points cannot be believed.
    """
    limits = limits or GpuLimits()
    throughput = fit_throughput(
        points, reference_mhz=limits.highest_mhz, gpus_per_node=limits.gpus_per_node
    )
    drawn = [point for point in (*points, *starved) if not math.isnan(point.watts_per_gpu)]
    power = fit_power(drawn, throughput.model, limits) if drawn else None
    return Behaviour(points=tuple(points), throughput=throughput, power=power)


def fit_throughput(
    points: Sequence[Point],
    *,
    reference_mhz: float = 0.0,
    gpus_per_node: int = 8,
    clock_bound: float = CLOCK_BOUND,
    grows: bool = False,
    usual: Mapping[str, Usual] = USUAL,
) -> Fit[ThroughputModel]:
    """`reference_mhz` is the GPU type's highest clock: what a point without a clock ran at.

    Where the batch grows with the GPUs, an iteration makes as many steps as there are GPUs.
    `usual` is what every ratio usually is: on this machine, if that is known.
    """
    refuse(point_problems(points))
    told = _Told.of(points, reference_mhz, grows)

    def model_of(named: Named) -> ThroughputModel:
        return _throughput_model(named, told, gpus_per_node, clock_bound, usual)

    def residuals(named: Named) -> F64:
        predicted = model_of(named).iteration_s(told.gpus, told.clock_mhz, told.batch)
        off = np.log(np.maximum(predicted, 1e-300) / told.iteration_s)
        return np.asarray(off * told.root_weight)

    solution = solve(_throughput_terms(told, gpus_per_node, clock_bound, usual), residuals)
    model = model_of(solution.values)
    predicted = model.iteration_s(told.gpus, told.clock_mhz, told.batch)
    notes = tuple(_notes(told, 1.0 / told.iteration_s, "steps_per_s"))
    return _fitted(model, told, told.iteration_s / predicted - 1.0, solution, notes)


def fit_power(
    points: Sequence[Point], throughput: ThroughputModel, limits: GpuLimits
) -> Fit[PowerModel]:
    """`throughput` tells how long every point's GPUs computed; the rest of the time that its
    iterations took they waited, for others or for data.
    """
    refuse(point_problems(points))
    refuse(_watts_problems(points, limits.max_w))
    told = _Told.of(points, limits.highest_mhz)
    watts = np.array([point.watts_per_gpu for point in points])
    compute_s = throughput.compute_s(told.clock_mhz, told.batch)
    busy = np.minimum(compute_s / told.iteration_s, 1.0)

    def model_of(named: Named) -> PowerModel:
        return _power_model(named, limits, told.reference_mhz)

    def predicted_w(named: Named) -> F64:
        return model_of(named).watts(told.clock_mhz, told.batch, busy)

    def residuals(named: Named) -> F64:
        return np.asarray(np.log(predicted_w(named) / watts) * told.root_weight)

    found = solve(_power_terms(told, watts, busy, limits.idle_w), residuals)
    notes = tuple(_notes(told, watts, "watts_per_gpu"))
    off = predicted_w(found.values) / watts - 1.0
    return _fitted(model_of(found.values), told, off, found, notes)


@dataclass(frozen=True, slots=True, eq=False)
class _Told:
    """The points as columns, with what they left out filled in."""

    gpus: F64
    clock_mhz: F64
    batch: F64
    iteration_s: F64
    root_weight: F64
    reference_mhz: float
    configurations: int

    @classmethod
    def of(cls, points: Sequence[Point], reference_mhz: float, grows: bool = False) -> "_Told":
        gpus = np.array([point.gpus for point in points], np.float64)
        clock = np.array([point.clock_mhz for point in points], np.float64)
        batch = np.array([point.batch_per_gpu for point in points], np.float64)
        reference = reference_mhz or float(clock.max()) or 1.0
        clock = np.where(clock > 0, clock, reference)
        steps = gpus if grows else np.ones_like(gpus)
        # A job whose batch is not told shares one batch among its GPUs, or has one on each.
        batch = np.where(np.isnan(batch), steps / gpus, batch)
        rows = np.column_stack([gpus, clock, batch])
        return cls(
            gpus=gpus,
            clock_mhz=clock,
            batch=batch,
            iteration_s=steps / np.array([point.steps_per_s for point in points], np.float64),
            root_weight=np.sqrt([point.weight for point in points]),
            reference_mhz=reference,
            configurations=len(np.unique(rows, axis=0)),
        )

    def relative_clock(self) -> F64:
        return relative_clock(self.clock_mhz, self.reference_mhz)


def _throughput_terms(
    told: _Told, gpus_per_node: int, clock_bound: float, usual: Mapping[str, Usual]
) -> list[Term]:
    """The terms of which the points say anything."""
    several, across = told.gpus > 1, told.gpus > max(gpus_per_node, 1)
    inside = several & ~across
    telling = {
        "fixed": np.ptp(told.batch) > 0,
        "inside": several.any(),
        "inside_each": len(np.unique(told.gpus[inside])) > 1,
        "across": across.any(),
        "across_each": len(np.unique(told.gpus[across])) > 1,
        "overlap": several.any(),
    }
    largest = told.batch >= told.batch.max() * (1 - 1e-9)
    log_s = math.log(float(told.iteration_s[largest].min()))
    starts = (log_s, log_s - 0.5, log_s)
    compute = Term(name="compute", starts=starts, low=log_s - FAR, high=log_s + FAR)
    terms = [compute, *(usual[name].term(name) for name, does in telling.items() if does)]
    if np.ptp(told.clock_mhz) > 0:
        terms += [
            Term(name="share", starts=(0.5, 0.9), high=1.0, usual=clock_bound, deviation=0.5),
            Term(name="differs", starts=(0.0,), low=-1.0, high=1.0, deviation=0.3),
        ]
    return terms


def _throughput_model(
    named: Named,
    told: _Told,
    gpus_per_node: int,
    clock_bound: float,
    usual: Mapping[str, Usual],
) -> ThroughputModel:
    ratio = {name: math.exp(named.get(name, math.log(one.factor))) for name, one in usual.items()}
    largest = float(told.batch.max())
    compute = math.exp(named["compute"])
    sample = compute / (1 + ratio["fixed"]) / largest
    fixed = compute - sample * largest
    share = named.get("share", clock_bound)
    of_sample = min(max(share + named.get("differs", 0.0), 0.0), 1.0)
    inside = compute * ratio["inside"]
    across = inside * ratio["across"]
    return ThroughputModel(
        alpha0=(1 - share) * fixed,
        alpha1=(1 - of_sample) * sample,
        alpha2=share * fixed,
        alpha3=of_sample * sample,
        beta0=inside,
        beta1=inside * ratio["inside_each"],
        beta2=across,
        beta3=across * ratio["across_each"],
        gamma=1 + ratio["overlap"],
        reference_mhz=told.reference_mhz,
        gpus_per_node=gpus_per_node,
    )


def _power_terms(told: _Told, watts: F64, busy: F64, idle_w: float) -> list[Term]:
    most = float(watts.max())
    span = max(most - idle_w, 0.1 * most)
    terms = [
        Term(name="span", starts=(span, 0.7 * span), high=4 * span, scale=span),
    ]
    if np.ptp(told.clock_mhz) > 0:
        linear = Term(
            name="linear", starts=(LINEAR_SHARE, 0.7), high=1.0, usual=LINEAR_SHARE, deviation=0.5
        )
        base = Term(
            name="base",
            starts=(idle_w, 0.5 * most),
            high=most,
            scale=most,
            usual=idle_w,
            deviation=most,
        )
        terms += [linear, base]
    if np.ptp(busy) > 0:
        usual = {"usual": WAITING_SHARE, "deviation": 0.5}
        terms.append(Term(name="waiting", starts=(WAITING_SHARE, 0.1), high=1.0, **usual))
    return terms


def _power_model(named: Named, limits: GpuLimits, reference_mhz: float) -> PowerModel:
    span, linear = named["span"], named.get("linear", LINEAR_SHARE)
    base = named.get("base", limits.idle_w)
    return PowerModel(
        p0=base,
        p1=linear * span,
        p3=(1 - linear) * span,
        q0=base,
        q1=named.get("waiting", WAITING_SHARE) * span,
        idle_w=limits.idle_w,
        max_w=limits.max_w,
        reference_mhz=reference_mhz,
        lowest_mhz=limits.lowest_mhz,
    )


def _watts_problems(points: Sequence[Point], max_w: float) -> Iterator[ValueFault]:
    for at, point in enumerate(points):
        # Boards overshoot their limit for moments, not on the mean of a measurement.
        if point.watts_per_gpu > 1.5 * max_w:
            told = f"{point.watts_per_gpu:g} W, but its GPU type draws at most {max_w:g} W"
            where = pointer("points", at, "watts_per_gpu")
            yield ValueFault("above_max", where, f"Point {at}: watts_per_gpu is {told}.")


def _notes(told: _Told, values: F64, name: str) -> Iterator[ValueFault]:
    """What the points do not tell."""
    whole = pointer("points")
    if told.configurations == 1:
        yield ValueFault(
            "one_configuration", whole, f"One configuration only tells no shape of {name}."
        )
    elif np.ptp(values) <= 1e-9 * values.max():
        yield ValueFault(
            "all_equal", whole, f"Every point has the same {name}: measured, or made up?"
        )
    for axis, column in (("gpus", told.gpus), ("clock_mhz", told.clock_mhz)):
        if np.ptp(column) == 0:
            yield ValueFault(
                "not_varied", whole, f"{axis} was never varied: its effect is assumed."
            )


def _fitted(
    model: AnyModel, told: _Told, residuals: F64, solution: Solution, notes: tuple[ValueFault, ...]
) -> Fit[AnyModel]:
    spread = spread_of(residuals, solution.told)
    if any(note.code in ("one_configuration", "all_equal") for note in notes):
        spread = WIDE_SPREAD
    columns = {"gpus": told.gpus, "clock_mhz": told.clock_mhz, "batch_per_gpu": told.batch}
    return Fit(
        model=model,
        parameters=parameters_of(model),
        residuals=residuals,
        points=len(residuals),
        ranges=ranges_of(columns),
        spread=spread,
        notes=notes,
        estimates=solution.estimates,
    )


def parameters_of(model: ThroughputModel | PowerModel) -> dict[str, float]:
    return {field.name: float(getattr(model, field.name)) for field in fields(model)}
