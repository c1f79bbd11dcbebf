"""Time and energy of an iteration under a power cap: the cap holds the clock, the clock the time.

A GPU computes for `compute_s` at full clock, longer at a lower one, and waits for `wait_s`
whatever its clock: for data, for the host, for memory. The cap bounds what it draws computing, so
that its mean may stay below the cap.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from jobs.profiling.fitting.problems import refuse
from jobs.profiling.fitting.solving import Named, Term, ranges_of, solve, spread_of
from jobs.profiling.performance.fit import Fit
from jobs.profiling.performance.gpu_power import PowerModel
from policies.contract.columns import F64
from policies.value_fault import ValueFault, pointer

# No GPU of the data runs below a tenth of its highest clock (A100: 210 of 1410 MHz).
LOWEST_CLOCK = 0.1
# Newton's steps from above on a convex curve: each doubles the correct digits.
STEPS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class CapPoint:
    """Mean seconds and watts of an iteration (or an epoch) under a cap."""

    cap_w: float
    iteration_s: float
    watts: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CappedModel:
    """`power.waiting_w` is drawn while waiting; its clocks are relative, 1 the highest."""

    compute_s: float
    wait_s: float
    power: PowerModel

    @property
    def clock_bound(self) -> float:
        """The share of an iteration at full clock that grows as the clock falls."""
        return self.compute_s / (self.compute_s + self.wait_s)

    def clock(self, cap_w: ArrayLike) -> F64:
        return clock_under_cap(self.power, cap_w)

    def iteration_s(self, cap_w: ArrayLike) -> F64:
        return np.asarray(self.wait_s + self.compute_s / self.clock(cap_w))

    def iteration_j(self, cap_w: ArrayLike) -> F64:
        return self.iteration_j_at(self.clock(cap_w))

    def watts(self, cap_w: ArrayLike) -> F64:
        return np.asarray(self.iteration_j(cap_w) / self.iteration_s(cap_w))

    def iteration_j_at(self, clock: ArrayLike) -> F64:
        """Joules at a relative clock."""
        x = np.asarray(clock, np.float64)
        computing_j = self.power.computing_w(x) * self.compute_s / x
        return np.asarray(computing_j + self.power.waiting_w(x) * self.wait_s)

    def best_cap(self, caps_w: ArrayLike) -> float:
        """The cap of the least joules; the lowest of equals: it costs nothing and promises more."""
        caps = np.sort(np.asarray(caps_w, np.float64))
        joules = self.iteration_j(caps)
        return float(caps[int(np.argmax(joules <= joules.min() * (1 + 1e-9)))])


def clock_under_cap(power: PowerModel, cap_w: ArrayLike) -> F64:
    """The highest clock at which computing stays within the cap; a GPU stops at its lowest."""
    cap, lowest, highest = np.asarray(cap_w, np.float64), power.lowest_mhz, power.reference_mhz
    x = cubic_root(power.p1, power.p3, np.maximum(cap - power.p0, 0.0))
    # What the card itself bounds needs no lower clock; what it draws at least cannot be saved.
    clock = np.where(cap < power.idle_w, lowest, np.clip(x * highest, lowest, highest))
    return np.where(power.computing_w(highest) > cap, clock, highest)


def cubic_root(linear: ArrayLike, cubic: ArrayLike, value: ArrayLike) -> F64:
    """The x from 0 to 1 with linear*x + cubic*x^3 = value, all of them not negative; 1 if none."""
    a, b, y = np.broadcast_arrays(*(np.asarray(v, np.float64) for v in (linear, cubic, value)))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        x = np.where(y > 0, np.minimum(np.minimum(y / a, np.cbrt(y / b)), 1.0), 0.0)
        for _ in range(STEPS):
            step = (a * x + b * x**3 - y) / (a + 3 * b * x**2)
            x = np.where(np.isfinite(step), np.clip(x - step, 0.0, 1.0), x)
    return np.asarray(x)


def fit_capped(
    points: Sequence[CapPoint], *, idle_w: float = 0.0, max_w: float = float("inf")
) -> Fit[CappedModel]:
    """Times and watts together; `residuals` are of the joules, which both make up."""
    refuse(_problems(points))
    caps = np.array([point.cap_w for point in points])
    seconds = np.array([point.iteration_s for point in points])
    watts = np.array([point.watts for point in points])

    def model_of(named: Named) -> CappedModel:
        base, span, linear = named["base"], named["span"], named.get("linear", 0.0)
        power = PowerModel(
            p0=base,
            p1=linear * span,
            p3=(1 - linear) * span,
            q0=named["waiting"],
            max_w=max_w,
            lowest_mhz=LOWEST_CLOCK,
        )
        return CappedModel(compute_s=named["compute"], wait_s=named.get("wait", 0.0), power=power)

    def residuals(named: Named) -> F64:
        model = model_of(named)
        times, joules = model.iteration_s(caps), model.iteration_j(caps)
        return np.concatenate([np.log(times / seconds), np.log(joules / times / watts)])

    solution = solve(_terms(points, idle_w), residuals)
    model = model_of(solution.values)
    off = model.iteration_j(caps) / (seconds * watts) - 1.0
    return Fit(
        model=model,
        parameters=_parameters(model),
        residuals=off,
        points=len(points),
        ranges=ranges_of({"cap_w": caps}),
        # Every point tells two figures: seconds and watts.
        spread=spread_of(off, solution.told / 2),
        notes=tuple(_notes(points)),
    )


def _terms(points: Sequence[CapPoint], idle_w: float) -> list[Term]:
    fastest_s = min(point.iteration_s for point in points)
    least_w, most_w = (pick(point.watts for point in points) for pick in (min, max))
    span = max(1.05 * most_w - idle_w, 0.1 * most_w)
    top_w = max(most_w, 1.01 * idle_w)
    low_base = (idle_w, 0.7 * least_w, idle_w, 0.7 * least_w)
    return [
        Term(
            name="compute",
            starts=(0.8 * fastest_s, 0.4 * fastest_s),
            low=1e-3 * fastest_s,
            scale=fastest_s,
        ),
        Term(name="base", starts=low_base, low=idle_w, high=top_w, scale=most_w),
        Term(name="span", starts=(span,), low=1e-2 * most_w, high=4 * most_w, scale=most_w),
        Term(name="waiting", starts=(0.6 * most_w,), low=idle_w, high=top_w, scale=most_w),
        Term(name="wait", starts=(0.2 * fastest_s, 0.6 * fastest_s), scale=fastest_s),
        Term(name="linear", starts=(0.3, 0.3, 0.8, 0.8), high=1.0, usual=0.3, deviation=1.0),
    ]


def _parameters(model: CappedModel) -> dict[str, float]:
    power = model.power
    return {
        "compute_s": model.compute_s,
        "wait_s": model.wait_s,
        "p0": power.p0,
        "p1": power.p1,
        "p3": power.p3,
        "q0": power.q0,
    }


def _problems(points: Sequence[CapPoint]) -> Iterator[ValueFault]:
    if not points:
        yield ValueFault("no_points", pointer("points"), "A fit needs at least one measured point.")
    for at, point in enumerate(points):
        for name in ("cap_w", "iteration_s", "watts"):
            value = getattr(point, name)
            if not (np.isfinite(value) and value > 0):
                where = pointer("points", at, name)
                yield ValueFault("not_positive", where, f"Point {at}: {name} is {value:g}.")


def _notes(points: Sequence[CapPoint]) -> Iterator[ValueFault]:
    if len({point.cap_w for point in points}) == 1:
        yield ValueFault("not_varied", pointer("points"), "cap_w was never varied.")
