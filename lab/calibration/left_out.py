"""Each case fitted as a whole, and without one cap, count or resource that it then predicts."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from jobs.profiling.fitting.sensitivity import fit_sensitivity
from jobs.profiling.performance.fit import Fit
from jobs.profiling.performance.points import Point
from jobs.profiling.performance.sensitivity import Sensitivity
from jobs.profiling.performance.throughput import ThroughputModel
from lab.calibration.capping import CappedModel, CapPoint, fit_capped
from lab.calibration.counts import (
    LEAST_COUNTS,
    OF_MACHINE,
    CountCase,
    contradictory,
    fit_group,
    groups_of,
    machine_usual,
)
from lab.calibration.measurements import CapCase, CountSeries, MatrixCase

Record = dict[str, Any]
Case = CapCase | CountCase | MatrixCase
# Leaving one out of fewer says nothing.
LEAST_CAPS = 3


def run(case: Case) -> Record:
    if isinstance(case, CapCase):
        return _run_caps(case)
    return _run_counts(case) if isinstance(case, CountCase) else _run_matrix(case)


def _row(measured: float, fitted: float, left_out: float, end: bool, **at: float) -> Record:
    """`end`: the lowest or highest of its axis, which without it is extrapolated to."""
    return {**at, "measured": measured, "fitted": fitted, "left_out": left_out, "end": end}


def fit_cap_case(case: CapCase, points: Sequence[CapPoint]) -> Fit[CappedModel]:
    return fit_capped(points, idle_w=case.idle_w, max_w=case.max_w)


def _run_caps(case: CapCase) -> Record:
    whole = fit_cap_case(case, case.points)
    caps = [point.cap_w for point in case.points]
    joules = [point.iteration_s * point.watts for point in case.points]
    rows = []
    for at, point in enumerate(case.points if len(caps) > LEAST_CAPS else ()):
        rest = [other for other in case.points if other is not point]
        found = fit_cap_case(case, rest).model
        fitted_j, left_out_j = (float(m.iteration_j(point.cap_w)) for m in (whole.model, found))
        row = _row(joules[at], fitted_j, left_out_j, at in (0, len(caps) - 1), cap_w=point.cap_w)
        seconds, watts = float(found.iteration_s(point.cap_w)), float(found.watts(point.cap_w))
        row["seconds_error"] = seconds / point.iteration_s - 1
        row["watts_error"] = watts / point.watts - 1
        rows.append(row)
    best = whole.model.best_cap(caps)
    return {
        "rows": rows,
        "parameters": dict(whole.parameters),
        "spread": whole.spread,
        "best_cap_w": best,
        "measured_best_cap_w": caps[int(np.argmin(joules))],
        "steps_apart": abs(caps.index(best) - int(np.argmin(joules))),
        "joules_range": max(joules) / min(joules) - 1,
    }


def _run_counts(case: CountCase) -> Record:
    """What the machine tells comes from the other applications, at all of their counts."""
    series, machine = case.series, machine_usual(case.others)
    rows = []
    for points in groups_of(series):
        counts = sorted({point.gpus for point in points})
        if len(counts) < LEAST_COUNTS:
            continue
        whole = fit_group(series, points, machine).model
        for count in counts:
            left = fit_group(series, [p for p in points if p.gpus != count], machine).model
            end = count in (counts[0], counts[-1])
            for point in (p for p in points if p.gpus == count):
                fitted, left_out = (_speed(m, series, point) for m in (whole, left))
                at = {"batch": series.batch_of(point), "gpus": count}
                rows.append(_row(point.steps_per_s, fitted, left_out, end, **at))
    return {
        "rows": rows,
        "contradictory": contradictory(series),
        "machine": {name: asdict(machine[name]) for name in OF_MACHINE},
    }


def _speed(model: ThroughputModel, series: CountSeries, point: Point) -> float:
    per_s = float(model.steps_per_s(point.gpus, 0, point.batch_per_gpu))
    return per_s * (point.gpus if series.grows else 1)


def fit_matrix(case: MatrixCase, points: Sequence[Point]) -> Fit[Sensitivity]:
    return fit_sensitivity(
        points, reference_cpus=case.reference_cpus, reference_mem_mib=case.reference_mem_mib
    )


def _run_matrix(case: MatrixCase) -> Record:
    """Once without every CPU count, once without every memory size."""
    whole = fit_matrix(case, case.points).model
    rows = []
    for axis in ("cpus_per_gpu", "mem_mib_per_gpu"):
        values = sorted({getattr(point, axis) for point in case.points})
        for value in values:
            rest = [point for point in case.points if getattr(point, axis) != value]
            left = fit_matrix(case, rest).model
            for point in (p for p in case.points if getattr(p, axis) == value):
                where = (point.cpus_per_gpu, point.mem_mib_per_gpu)
                fitted, left_out = (float(1 / m.batch_s(*where)) for m in (whole, left))
                end = value in (values[0], values[-1])
                row = _row(
                    point.steps_per_s, fitted, left_out, end, cpus=where[0], mem_mib=where[1]
                )
                rows.append({**row, "axis": axis})
    return {"rows": rows, "fetch_s": whole.fetch_s, "dataset_mib": whole.dataset_mib}
