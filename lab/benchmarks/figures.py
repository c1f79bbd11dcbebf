"""The one line a figure is, and how milliseconds are taken."""

import gc
import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple

REPEATS = 5


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


class Taken(NamedTuple):
    """Milliseconds on the wall and of this process; neighbours on the machine stretch the first."""

    wall_ms: float
    cpu_ms: float


def best(action: Callable[[], object]) -> Taken:
    """The best of a few runs, each measure for itself."""
    taken = []
    for _ in range(REPEATS):
        gc.collect()
        began, began_cpu = time.perf_counter(), time.process_time()
        action()
        taken.append((time.perf_counter() - began, time.process_time() - began_cpu))
    return Taken(*(min(each) * 1000 for each in zip(*taken, strict=True)))
