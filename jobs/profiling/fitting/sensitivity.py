"""CPU and memory sensitivity from measured points: the CPU curve, then the cache behind it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from jobs.profiling.fitting.problems import point_problems, refuse
from jobs.profiling.fitting.solving import Named, Term, ranges_of, solve, spread_of
from jobs.profiling.performance.fit import LEAST_SPREAD, WIDE_SPREAD, Fit
from jobs.profiling.performance.points import Point
from jobs.profiling.performance.sensitivity import Sensitivity
from policies.contract.columns import F64
from policies.value_fault import ValueFault, pointer


def fit_sensitivity(
    points: Sequence[Point],
    *,
    reference_cpus: float,
    reference_mem_mib: float = float("inf"),
    dataset_mib: float = 0.0,
    fetch_s: float = 0.0,
) -> Fit[Sensitivity]:
    """Points with the most memory give the CPU curve; those with less give the cache.

    Where memory was never varied it is derived from `dataset_mib` and `fetch_s`, if they are known.
    """
    refuse(point_problems(points))
    refuse(_missing(points))
    told = _columns(points)
    curve_cpus, curve = _curve(told)
    model = Sensitivity.of_curve(
        curve_cpus,
        curve,
        reference_cpus=reference_cpus,
        reference_mem_mib=reference_mem_mib,
        fetch_s=fetch_s,
        dataset_mib=dataset_mib,
    )
    free = len(curve)
    cpus, memory, speed, _ = told
    if np.ptp(memory) > 0:
        model = _with_cache(model, told)
        free += 2
    residuals = 1.0 / model.batch_s(cpus, memory) / speed - 1.0
    if len(curve) == 1:
        spread = WIDE_SPREAD
    else:
        # The curve goes through its points: without repeats it cannot know its own error.
        spread = spread_of(residuals, free) if len(points) > free else 2 * LEAST_SPREAD
    return Fit(
        model=model,
        parameters={"fetch_s": model.fetch_s, "dataset_mib": model.dataset_mib},
        residuals=residuals,
        points=len(points),
        ranges=ranges_of({"cpus_per_gpu": cpus, "mem_mib_per_gpu": memory}),
        spread=spread,
        notes=tuple(_notes(told, dataset_mib)),
    )


_Columns = tuple[F64, F64, F64, F64]


def _columns(points: Sequence[Point]) -> _Columns:
    cpus = np.array([point.cpus_per_gpu for point in points], np.float64)
    memory = np.array([point.mem_mib_per_gpu for point in points], np.float64)
    # Who does not tell its memory had all it wanted.
    unknown = np.isnan(memory)
    memory = np.where(unknown, 0.0 if unknown.all() else np.nanmax(memory), memory)
    speed = np.array([point.steps_per_s for point in points], np.float64)
    weight = np.array([point.weight for point in points], np.float64)
    return cpus, memory, speed, weight


def _curve(told: _Columns) -> tuple[list[float], list[float]]:
    """Mean speed at every CPU count, of its points with the most memory."""
    cpus, memory, speed, weight = told
    counts = np.unique(cpus).tolist()
    curve = []
    for count in counts:
        rows = cpus == count
        rows &= memory == memory[rows].max()
        curve.append(float(np.average(speed[rows], weights=weight[rows])))
    return counts, curve


def _with_cache(model: Sensitivity, told: _Columns) -> Sensitivity:
    cpus, memory, speed, weight = told
    slowest_s, most_mib = float(1.0 / speed.min()), float(memory.max())
    terms = [
        Term(
            name="fetch_s",
            starts=(slowest_s, 2 * slowest_s, 0.5 * slowest_s),
            scale=slowest_s,
        ),
        Term(
            name="dataset_mib",
            starts=(most_mib, 0.5 * most_mib, 2 * most_mib),
            low=1.0,
            scale=most_mib,
        ),
    ]

    def model_of(named: Named) -> Sensitivity:
        return replace(model, fetch_s=named["fetch_s"], dataset_mib=named["dataset_mib"])

    def residuals(named: Named) -> F64:
        off = np.log(model_of(named).batch_s(cpus, memory) * speed)
        return np.asarray(off * np.sqrt(weight))

    return model_of(solve(terms, residuals).values)


def _missing(points: Sequence[Point]) -> Iterator[ValueFault]:
    for at, point in enumerate(points):
        if not point.cpus_per_gpu > 0:
            where = pointer("points", at, "cpus_per_gpu")
            yield ValueFault("missing", where, f"Point {at}: cpus_per_gpu is not told.")


def _notes(told: _Columns, dataset_mib: float) -> Iterator[ValueFault]:
    cpus, memory, speed, _ = told
    whole = pointer("points")
    if np.ptp(cpus) == 0:
        yield ValueFault(
            "not_varied", whole, "cpus_per_gpu was never varied: its effect is assumed."
        )
    if np.ptp(memory) == 0:
        how = "derived from the data set" if dataset_mib else "not known"
        yield ValueFault(
            "not_varied", whole, f"mem_mib_per_gpu was never varied: its effect is {how}."
        )
    if len(speed) > 1 and np.ptp(speed) == 0:
        yield ValueFault("all_equal", whole, "Every point has the same steps_per_s.")
