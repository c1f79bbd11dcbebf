"""The one line a figure is: what was measured, in which case, and whether it keeps its bar."""

import json
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any, TypeVar

Result = TypeVar("Result")


def figure(
    bench: str,
    case: str,
    metric: str,
    value: float,
    unit: str,
    *,
    at_most: float | None = None,
    at_least: float | None = None,
) -> None:
    line: dict[str, Any] = {
        "bench": bench,
        "case": case,
        "metric": metric,
        "value": round(value, 3),
        "unit": unit,
    }
    if at_most is not None:
        line |= {"bar": at_most, "holds": value <= at_most}
    if at_least is not None:
        line |= {"bar": at_least, "holds": value >= at_least}
    print(json.dumps(line), flush=True)


def median_ms(call: Callable[[], Result], times: int = 5) -> tuple[float, Result]:
    """Median milliseconds of several calls, and what the last one returned."""
    laps = []
    for _ in range(times):
        begun = perf_counter()
        result = call()
        laps.append((perf_counter() - begun) * 1000)
    return median(laps), result
