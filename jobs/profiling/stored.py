"""Fitted models as they are kept with a profile's version: plain JSON, and back."""

import math
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from jobs.profiling.performance.application import Application, Behaviour
from jobs.profiling.performance.fit import Fit, FittedRange
from jobs.profiling.performance.gpu_power import PowerModel
from jobs.profiling.performance.points import Point
from jobs.profiling.performance.sensitivity import Sensitivity
from jobs.profiling.performance.throughput import ThroughputModel
from policies.value_fault import ValueFault

Document = dict[str, Any]
AnyModel = TypeVar("AnyModel", ThroughputModel, PowerModel)


def document_of(application: Application) -> Document:
    return {
        "types": {
            kind: {
                "throughput": behaviour.throughput and _fit(behaviour.throughput),
                "power": behaviour.power and _fit(behaviour.power),
            }
            for kind, behaviour in application.behaviours.items()
        },
        "sensitivity": application.sensitivity and _sensitivity(application.sensitivity),
    }


def sensitivity_from(document: Document) -> Sensitivity | None:
    stored = document.get("sensitivity")
    if not stored:
        return None
    values = {**stored, "cpus": tuple(stored["cpus"]), "cached_s": tuple(stored["cached_s"])}
    return Sensitivity(**values)


def behaviour_from(document: Document, kind: str, points: tuple[Point, ...]) -> Behaviour:
    stored = document.get("types", {}).get(kind, {})
    return Behaviour(
        points=points,
        throughput=_read(ThroughputModel, stored.get("throughput")),
        power=_read(PowerModel, stored.get("power")),
    )


def _fit(fit: Fit[Any]) -> Document:
    return {
        "parameters": _finite(fit.parameters),
        "ranges": {axis: [r.low, r.high] for axis, r in fit.ranges.items()},
        "spread": fit.spread,
        "points": fit.points,
        "mean_error": fit.mean_error,
        "worst_error": fit.worst_error,
        "residuals": [round(float(one), 6) for one in fit.residuals[:RESIDUALS_KEPT]],
        "wide": fit.wide,
        "notes": [{"code": note.code, "message": note.message} for note in fit.notes],
    }


RESIDUALS_KEPT = 100


def _read(model: type[AnyModel], stored: Document | None) -> Fit[AnyModel] | None:
    if not stored:
        return None
    return Fit(
        model=model(**stored["parameters"]),
        parameters=stored["parameters"],
        residuals=np.array(stored["residuals"], np.float64),
        points=stored["points"],
        ranges={axis: FittedRange(low, high) for axis, (low, high) in stored["ranges"].items()},
        spread=stored["spread"],
        notes=tuple(ValueFault(note["code"], "", note["message"]) for note in stored["notes"]),
    )


def _sensitivity(one: Sensitivity) -> Document:
    values: Document = _finite(
        {
            name: getattr(one, name)
            for name in Sensitivity.__dataclass_fields__
            if name not in ("cpus", "cached_s")
        }
    )
    return {**values, "cpus": list(one.cpus), "cached_s": list(one.cached_s)}


def _finite(values: Mapping[str, float]) -> Document:
    """JSON knows no infinity; it is what a model takes where nothing is said."""
    return {name: value for name, value in values.items() if math.isfinite(value)}
