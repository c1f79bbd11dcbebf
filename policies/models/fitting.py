"""Throughput and power models from measured points, by bounded least squares on relative errors.

A term that the points cannot tell is not fitted: it keeps an assumed value, and the fit's notes and
ranges say so. So few points give a plain model, many points the whole form.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np

from policies.columns import F64
from policies.models.fit import WIDE_SPREAD, Fit, ranges_of, spread_of
from policies.models.gpu_power import PowerModel
from policies.models.points import Point, point_problems, refuse
from policies.models.problem import Problem, pointer
from policies.models.solving import Named, Term, solve
from policies.models.throughput import ThroughputModel, relative_clock

AnyModel = TypeVar("AnyModel", ThroughputModel, PowerModel)

GAMMA_MOST = 10.0
# A job whose clock was never varied is taken to slow down with it entirely: the careful assumption,
# since a lower clock then never looks free.
CLOCK_BOUND = 1.0
# Where the clock was never varied: the part of a GPU's watts above idle that is linear in the
# clock, the rest being cubic, and the part of that linear one that a waiting GPU still draws.
LINEAR_SHARE = 0.3
WAITING_SHARE = 0.5
# Waiting watts can be told from computing watts when the points differ this much in how busy.
BUSY_DIFFERS = 0.2


def fit_throughput(
    points: Sequence[Point],
    *,
    reference_mhz: float = 0.0,
    gpus_per_node: int = 8,
    clock_bound: float = CLOCK_BOUND,
    grows: bool = False,
) -> Fit[ThroughputModel]:
    """`reference_mhz` is the GPU type's highest clock: what a point without a clock ran at.

    Where the batch grows with the GPUs, an iteration makes as many steps as there are GPUs.
    """
    refuse(point_problems(points))
    told = _Told.of(points, reference_mhz, grows)
    terms = _throughput_terms(told, gpus_per_node)

    def model_of(named: Named) -> ThroughputModel:
        return _throughput_model(named, told.reference_mhz, gpus_per_node, clock_bound)

    def residuals(named: Named) -> F64:
        predicted = model_of(named).iteration_s(told.gpus, told.clock_mhz, told.batch, told.nodes)
        off = np.log(np.maximum(predicted, 1e-300) / told.iteration_s)
        return np.asarray(off * told.root_weight)

    model = model_of(solve(terms, residuals))
    predicted = model.iteration_s(told.gpus, told.clock_mhz, told.batch, told.nodes)
    notes = tuple(_notes(told, 1.0 / told.iteration_s, "steps_per_s"))
    return _fitted(model, told, told.iteration_s / predicted - 1.0, len(terms), notes)


def fit_power(
    points: Sequence[Point],
    *,
    throughput: ThroughputModel | None = None,
    idle_w: float = 0.0,
    max_w: float = float("inf"),
    reference_mhz: float = 0.0,
    lowest_mhz: float = 0.0,
) -> Fit[PowerModel]:
    """`throughput` tells how busy every point's GPUs were; without it, entirely."""
    refuse(point_problems(points))
    refuse(_watts_problems(points, max_w))
    measured = [point for point in points if not np.isnan(point.watts_per_gpu)]
    told = _Told.of(measured, reference_mhz)
    watts = np.array([point.watts_per_gpu for point in measured])
    busy = np.ones(len(measured))
    if throughput is not None:
        busy = throughput.busy_share(told.gpus, told.clock_mhz, told.batch, told.nodes)
    terms = _power_terms(told, watts, busy, idle_w)

    def model_of(named: Named) -> PowerModel:
        model = _power_model(named, idle_w)
        limits = {"max_w": max_w, "reference_mhz": told.reference_mhz, "lowest_mhz": lowest_mhz}
        return PowerModel(**model, idle_w=idle_w, **limits)

    def predicted_w(named: Named) -> F64:
        return model_of(named).watts(told.clock_mhz, told.batch, busy)

    def residuals(named: Named) -> F64:
        return np.asarray(np.log(predicted_w(named) / watts) * told.root_weight)

    found = solve(terms, residuals)
    notes = tuple(_notes(told, watts, "watts_per_gpu"))
    return _fitted(model_of(found), told, predicted_w(found) / watts - 1.0, len(terms), notes)


@dataclass(frozen=True, slots=True, eq=False)
class _Told:
    """The points as columns, with what they left out filled in."""

    gpus: F64
    nodes: F64
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
        nodes = np.array([point.nodes for point in points], np.float64)
        reference = reference_mhz or float(clock.max()) or 1.0
        clock = np.where(clock > 0, clock, reference)
        steps = gpus if grows else np.ones_like(gpus)
        # A job whose batch is not told shares one batch among its GPUs, or has one on each.
        batch = np.where(np.isnan(batch), steps / gpus, batch)
        rows = np.column_stack([gpus, nodes, clock, batch])
        return cls(
            gpus=gpus,
            nodes=nodes,
            clock_mhz=clock,
            batch=batch,
            iteration_s=steps / np.array([point.steps_per_s for point in points], np.float64),
            root_weight=np.sqrt([point.weight for point in points]),
            reference_mhz=reference,
            configurations=len(np.unique(rows, axis=0)),
        )

    def relative_clock(self) -> F64:
        return relative_clock(self.clock_mhz, self.reference_mhz)


def _throughput_terms(told: _Told, gpus_per_node: int) -> list[Term]:
    """The terms that the points can tell, the most telling first."""
    longest_s, shortest_s = float(told.iteration_s.max()), float(told.iteration_s.min())
    sample_s = longest_s / max(float(told.batch.max()), 1e-300)
    across = np.ceil(told.gpus / gpus_per_node) if not told.nodes.any() else told.nodes
    inside_counts = len(np.unique(told.gpus[(told.gpus > 1) & (across <= 1)]))
    across_counts = len(np.unique(told.gpus[(told.gpus > 1) & (across > 1)]))
    batches, clocks = len(np.unique(told.batch)), len(np.unique(told.clock_mhz))
    base = Term("base", (0.1 * shortest_s, 0.5 * shortest_s), scale=shortest_s)
    sample = Term("sample", (0.9 * sample_s, 0.5 * sample_s), scale=sample_s)
    some_s = (0.3 * shortest_s, 0.1 * shortest_s)
    wanted = [
        (sample, batches > 1),
        (base, batches == 1),
        (Term("share", (0.5, 0.9), high=1.0), clocks > 1),
        (Term("inside", some_s, scale=shortest_s), inside_counts > 0),
        (Term("across", some_s, scale=shortest_s), across_counts > 0),
        (base, batches > 1),
        (Term("across_each", (0.01 * shortest_s,), scale=shortest_s), across_counts > 1),
        (Term("inside_each", (0.05 * shortest_s,), scale=shortest_s), inside_counts > 1),
        (Term("gamma", (1.0, 2.0, 4.0), 1.0, GAMMA_MOST), inside_counts + across_counts > 2),
        (Term("share_sample", (0.5, 0.9), high=1.0), clocks > 2 and batches > 2),
    ]
    able = [term for term, can in wanted if can]
    # One point more than terms, where there is one: a fit through every point knows no error.
    return able[: max(told.configurations - (told.configurations > 2), 1)]


def _throughput_model(
    named: Named, reference_mhz: float, gpus_per_node: int, clock_bound: float
) -> ThroughputModel:
    base, sample = named.get("base", 0.0), named.get("sample", 0.0)
    share = named.get("share", clock_bound)
    of_sample = named.get("share_sample", share)
    inside, inside_each = named.get("inside", 0.0), named.get("inside_each", 0.0)
    # Never measured across nodes: no slower than inside one, as far as anybody knows.
    across = named.get("across", inside)
    return ThroughputModel(
        alpha0=(1 - share) * base,
        alpha1=(1 - of_sample) * sample,
        alpha2=share * base,
        alpha3=of_sample * sample,
        beta0=named.get("inside", across),
        beta1=inside_each,
        beta2=across,
        beta3=named.get("across_each", inside_each),
        gamma=named.get("gamma", 1.0),
        reference_mhz=reference_mhz,
        gpus_per_node=gpus_per_node,
    )


def _power_terms(told: _Told, watts: F64, busy: F64, idle_w: float) -> list[Term]:
    clocks = len(np.unique(told.clock_mhz))
    most = float(watts.max())
    span = max(most - idle_w, 0.1 * most)
    wanted = [
        (Term("span", (span, 0.7 * span), high=4 * span, scale=span), True),
        (Term("linear", (LINEAR_SHARE, 0.7), high=1.0), clocks > 2),
        (Term("base", (idle_w, 0.5 * most), high=most, scale=most), clocks > 1),
        (Term("waiting", (WAITING_SHARE, 0.1), high=1.0), float(np.ptp(busy)) > BUSY_DIFFERS),
    ]
    able = [term for term, can in wanted if can]
    return able[: max(told.configurations - (told.configurations > 2), 1)]


def _power_model(named: Named, idle_w: float) -> dict[str, float]:
    span, linear = named["span"], named.get("linear", LINEAR_SHARE)
    base = named.get("base", idle_w)
    return {
        "p0": base,
        "p1": linear * span,
        "p3": (1 - linear) * span,
        "q0": base,
        "q1": named.get("waiting", WAITING_SHARE) * span * linear,
    }


def _watts_problems(points: Sequence[Point], max_w: float) -> Iterator[Problem]:
    if np.all(np.isnan([point.watts_per_gpu for point in points])):
        yield Problem("no_watts", pointer("points"), "No point says what its GPUs drew.")
    for at, point in enumerate(points):
        # Boards overshoot their limit for moments, not on the mean of a measurement.
        if point.watts_per_gpu > 1.5 * max_w:
            told = f"{point.watts_per_gpu:g} W, but its GPU type draws at most {max_w:g} W"
            where = pointer("points", at, "watts_per_gpu")
            yield Problem("above_max", where, f"Point {at}: watts_per_gpu is {told}.")


def _notes(told: _Told, values: F64, name: str) -> Iterator[Problem]:
    """What the points do not tell."""
    whole = pointer("points")
    if told.configurations == 1:
        yield Problem(
            "one_configuration", whole, f"One configuration only tells no shape of {name}."
        )
    elif np.ptp(values) <= 1e-9 * values.max():
        yield Problem("all_equal", whole, f"Every point has the same {name}: measured, or made up?")
    for axis, column in (("gpus", told.gpus), ("clock_mhz", told.clock_mhz)):
        if np.ptp(column) == 0:
            yield Problem("not_varied", whole, f"{axis} was never varied: its effect is assumed.")


def _fitted(
    model: AnyModel, told: _Told, residuals: F64, terms: int, notes: tuple[Problem, ...]
) -> Fit[AnyModel]:
    spread = spread_of(residuals, terms)
    if any(note.code in ("one_configuration", "all_equal") for note in notes):
        spread = WIDE_SPREAD
    columns = {
        "gpus": told.gpus,
        "clock_mhz": told.clock_mhz,
        "batch_per_gpu": told.batch,
        "nodes": told.nodes[told.nodes > 0],
    }
    return Fit(
        model=model,
        parameters=parameters_of(model),
        residuals=residuals,
        points=len(residuals),
        ranges=ranges_of(columns),
        spread=spread,
        notes=notes,
    )


def parameters_of(model: ThroughputModel | PowerModel) -> dict[str, float]:
    return {field.name: float(getattr(model, field.name)) for field in fields(model)}
