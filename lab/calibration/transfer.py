"""Power of a GPU type that nobody capped for us: shapes measured on another, scaled to its limits.

The error of this is measured where it can be: each type of data/zeus predicted from another one.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from jobs.profiling.performance.gpu_power import PowerModel
from lab.calibration.capping import CappedModel
from lab.calibration.load import FittedGpuType
from lab.calibration.measurements import CapCase
from policies.contract.columns import F64

# Below this share of the highest clock no cap of data/zeus reaches.
CLOCK_GRID = np.linspace(0.3, 1.0, 29)


class TransferError(NamedTuple):
    """Relative errors at every cap of one case, predicted from another GPU type's shape."""

    from_type: str
    to_type: str
    case: str
    watts: list[float]
    joules: list[float]
    """Over those at the highest cap: what a lower cap saves."""


def scaled(model: CappedModel, from_w: float, to_w: float) -> CappedModel:
    """The same shape on a GPU type with another power limit; times keep their ratio."""
    factor, power = to_w / from_w, model.power
    return CappedModel(
        compute_s=model.compute_s,
        wait_s=model.wait_s,
        power=PowerModel(
            p0=power.p0 * factor,
            p1=power.p1 * factor,
            p3=power.p3 * factor,
            q0=power.q0 * factor,
            max_w=to_w,
            lowest_mhz=power.lowest_mhz,
        ),
    )


def power_model(model: CappedModel, sheet: FittedGpuType) -> PowerModel:
    """Mean watts over the clock in the PowerFlow form, waiting for data included.

    What a GPU draws while it waits for others is taken to be what it draws waiting for data, at
    the highest clock; at lower ones it falls towards p0, for computing draws no less.
    """
    x = CLOCK_GRID
    seconds = model.wait_s + model.compute_s / x
    watts = model.iteration_j_at(x) / seconds
    (p0, p1, p3), _ = nnls(np.column_stack([1 / watts, x / watts, x**3 / watts]), np.ones(len(x)))
    return PowerModel(
        p0=float(p0),
        p1=float(p1),
        p3=float(p3),
        q0=min(model.power.q0, float(p0)),
        q1=max(model.power.q0 - float(p0), 0.0),
        idle_w=sheet.idle_w,
        max_w=sheet.max_w,
        reference_mhz=sheet.clocks_mhz[-1],
        lowest_mhz=sheet.clocks_mhz[0],
    )


def transfer_errors(
    cases: Sequence[CapCase], models: Mapping[str, CappedModel]
) -> Iterator[TransferError]:
    """Every case from every other GPU type that ran the same application at the same batch."""
    for case in cases:
        for other in cases:
            same = (case.application, case.batch) == (other.application, other.batch)
            if same and case.gpu_type != other.gpu_type:
                model = scaled(models[other.name], other.max_w, case.max_w)
                yield _error(case, other, model)


def _error(case: CapCase, other: CapCase, model: CappedModel) -> TransferError:
    caps = np.array([point.cap_w for point in case.points])
    watts = np.array([point.watts for point in case.points])
    joules = np.array([point.iteration_s * point.watts for point in case.points])
    found_w, found_j = model.watts(caps), model.iteration_j(caps)
    return TransferError(
        other.gpu_type,
        case.gpu_type,
        f"{case.application}/{case.batch}",
        _relative(found_w, watts),
        _relative((found_j / found_j[-1])[:-1], (joules / joules[-1])[:-1]),
    )


def _relative(found: F64, measured: F64) -> list[float]:
    errors: list[float] = (found / measured - 1.0).tolist()
    return errors
