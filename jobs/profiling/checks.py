"""What is wrong with points before anything is fitted to them, each problem at its own point."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from jobs.profiling.assembly import Typed
from jobs.profiling.fitting.behaviour import GpuLimits
from jobs.profiling.fitting.problems import point_problems
from policies.value_fault import ValueFault

# Boards overshoot their limit for moments, not on the mean of a measurement.
ABOVE_MAX = 1.5


@dataclass(frozen=True, slots=True)
class Trouble:
    """`index` is the point's place among those that were looked at; `field` the value at fault."""

    index: int
    field: str
    code: str
    message: str


def troubles(points: Sequence[Typed], limits: Mapping[str, GpuLimits]) -> Iterator[Trouble]:
    """Points of one GPU type are held against each other; those of two types differ anyway."""
    indexes: dict[str, list[int]] = defaultdict(list)
    for index, one in enumerate(points):
        indexes[one.gpu_type].append(index)
    for kind, of_kind in indexes.items():
        problems = point_problems([points[index].point for index in of_kind])
        found = [_at(problem, points, of_kind) for problem in problems]
        yield from found
        in_trouble = {(one.index, one.field) for one in found}
        limit_w = ABOVE_MAX * limits.get(kind, GpuLimits()).max_w
        for index in of_kind:
            watts = points[index].point.watts_per_gpu
            if watts > limit_w and (index, "watts_per_gpu") not in in_trouble:
                said = f"draws {watts:g} W, but {kind} at most {limit_w / ABOVE_MAX:g} W"
                yield Trouble(index, "watts_per_gpu", "above_max", f"{_name(points[index])} {said}")


def _at(problem: ValueFault, points: Sequence[Typed], of_kind: Sequence[int]) -> Trouble:
    _, _, place, field = f"{problem.pointer}//".split("/")[:4]
    index = of_kind[int(place or 0)]
    # The model's own words begin with the point's number among those of its type.
    said = problem.message.removeprefix(f"Point {place}: ")
    return Trouble(index, field, problem.code, f"{_name(points[index])}: {said}")


def _name(one: Typed) -> str:
    clock = f" at {one.point.clock_mhz:g} MHz" if one.point.clock_mhz else ""
    return f"The point of {one.point.gpus} {one.gpu_type}{clock}"
