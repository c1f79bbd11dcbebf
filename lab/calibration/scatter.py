"""How far the measurements contradict themselves, whatever model is fitted to them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from lab.calibration.counts import LEAST_COUNTS, OF_MACHINE, speeds_per_gpu
from lab.calibration.left_out import Record
from lab.calibration.measurements import CountSeries, Placement
from simulator.report.figures import figure_text


def least_error(per_gpu: Sequence[float]) -> float:
    """Mean relative error of the nearest curve that never rises, all points known to it.

    The best curve takes measured values only: the error of a level stretch is straight in between.
    """
    levels = np.unique(per_gpu)
    later = np.zeros(len(levels))
    for speed in reversed(per_gpu):
        # Further on the curve stands at this level or a lower one.
        later = np.abs(levels / speed - 1) + np.minimum.accumulate(later)
    return float(later.min() / len(per_gpu))


def least_errors(series: Sequence[CountSeries]) -> dict[str, list[float]]:
    """By GPU type, one for every point of a series that is long enough to be left out of."""
    found: dict[str, list[float]] = defaultdict(list)
    for one in series:
        for _, per_gpu in speeds_per_gpu(one):
            if len(per_gpu) >= LEAST_COUNTS:
                found[one.gpu_type] += [least_error(per_gpu)] * len(per_gpu)
    return found


def least_error_table(least: Mapping[str, Sequence[float]]) -> list[list[str]]:
    table = [["nearest curve on which speed per GPU never rises", "points", "mean %"]]
    everything = [error for errors in least.values() for error in errors]
    for name, errors in (*least.items(), ("all", everything)):
        table.append([name, str(len(errors)), figure_text(100 * float(np.mean(errors)))])
    return table


def machine_table(series: Sequence[CountSeries], records: Mapping[str, Record]) -> list[list[str]]:
    """A ratio, and the factor within which two thirds of the applications lie, over all series."""
    table = [["synchronising: mean (within a factor of)", *OF_MACHINE]]
    for gpu_type in dict.fromkeys(one.gpu_type for one in series):
        terms = [records[one.name]["machine"] for one in series if one.gpu_type == gpu_type]
        cells = []
        for name in OF_MACHINE:
            factor = np.exp(np.mean([np.log(one[name]["factor"]) for one in terms]))
            within = np.exp(np.mean([one[name]["deviation"] for one in terms]))
            cells.append(f"{figure_text(float(factor))} ({figure_text(float(within))})")
        table.append([gpu_type, *cells])
    return table


def placement_table(placements: Sequence[Placement]) -> list[list[str]]:
    head = ["GPUs on several servers faster than on one", "times", "of", "by mean %", "most %"]
    return [head, *_placement_rows(placements)]


def _placement_rows(placements: Sequence[Placement]) -> Iterator[list[str]]:
    for gpu_type in dict.fromkeys(one.gpu_type for one in placements):
        gains = [one.spread / one.together - 1 for one in placements if one.gpu_type == gpu_type]
        faster = [100 * gain for gain in gains if gain > 0]
        by = [figure_text(float(pick(faster))) if faster else "" for pick in (np.mean, np.max)]
        yield [gpu_type, str(len(faster)), str(len(gains)), *by]
