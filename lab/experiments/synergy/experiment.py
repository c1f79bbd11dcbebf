"""Synergy (OSDI 2022): what CPUs and memory by sensitivity do for completion times."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from lab.experiments.bars import Bar, at_least
from lab.experiments.frame import (
    Experiment,
    ExperimentFindings,
    Records,
    Table,
    curves_of,
    named,
    without_series,
)
from lab.experiments.synergy.grid import MULTI_LOAD, SEEDS, grid, plotted, run_case
from lab.experiments.synergy.settings import (
    BY_MONEY,
    FIRST_MEASURED,
    MEASURED_TO,
    ORDERINGS,
    ROUND_S,
    SynergyCase,
)
from policies.synergy.parameters import PackingName
from simulator.metrics.intervals import Interval
from simulator.report.figures import figure_text

HOUR_S = 3600.0
BAR_GAIN, BAR_OF_OPT = 3.4, 0.9
BAR_BY_MONEY = 1.0
# What the authors' simulator gives at 128 GPUs, single-GPU jobs, 9 jobs per hour, (20,70,10).
AUTHORS_H: dict[tuple[str, PackingName], float] = {
    ("fifo", "proportional"): 81.1,
    ("fifo", "tune"): 21.9,
    ("srtf", "tune"): 16.6,
}

_HEADINGS = (
    "cell", "JCT mean h", "median h", "p99 h", "gain", "GPUs held", "CPUs given", "CPUs used",
    "of bound", "stopped", "authors h",
)  # fmt: skip


def findings(records: Records) -> ExperimentFindings:
    cases = grid()
    cells = list(dict.fromkeys(replace(case, seed=SEEDS[0]) for case in cases))
    rows = [
        {**asdict(case), "name": case.name(), **without_series(records[case.name()])}
        for case in cases
    ]
    gains = [_gain_row(records, cell) for cell in cells if _baseline(cell) in cells]
    table = [_HEADINGS, *(_row(records, cell) for cell in cells)]
    return ExperimentFindings(
        results={"rows": rows, "gains": gains},
        bars=bars_of(records, cells),
        tables=[Table("Mean completion times and gains; ranges are over seeds", table)],
        curves=curves_of(_plotted(records, cells)),
    )


def _settings() -> dict[str, Any]:
    return {
        "round_s": ROUND_S,
        "measured_jobs": [FIRST_MEASURED, MEASURED_TO],
        "by_money": BY_MONEY,
        "authors_h": {f"{o} {p}": hours for (o, p), hours in AUTHORS_H.items()},
    }


def _values(records: Records, cell: SynergyCase, figure: str) -> list[float]:
    """Over the seeds that were run."""
    names = [replace(cell, seed=seed).name() for seed in SEEDS]
    found = [records[name][figure] for name in names if name in records]
    return [math.nan if value is None else float(value) for value in found]


def _spread(values: Sequence[float]) -> Interval:
    """The mean, and the range over seeds."""
    return Interval(sum(values) / len(values), min(values), max(values))


def _baseline(cell: SynergyCase) -> SynergyCase:
    return replace(cell, packing="proportional", pooled=False, migration=True, by_money=False)


def gain_of(records: Records, cell: SynergyCase) -> Interval:
    """How many times shorter completion is than with proportional shares, paired by seed."""
    before = _values(records, _baseline(cell), "jct_mean_s")
    after = _values(records, cell, "jct_mean_s")
    return _spread([b / a for b, a in zip(before, after, strict=False)])


def _gain_row(records: Records, cell: SynergyCase) -> dict[str, Any]:
    mean_s = _spread(_values(records, cell, "jct_mean_s"))
    kept = {name: value for name, value in asdict(cell).items() if name != "seed"}
    return {**kept, "jct_mean_s": mean_s._asdict(), "gain": gain_of(records, cell)._asdict()}


def bars_of(records: Records, cells: Sequence[SynergyCase]) -> list[Bar]:
    by_money = [cell for cell in cells if cell.by_money]
    tuned = [cell for cell in cells if cell.packing == "tune" and cell.migration]
    tuned = [cell for cell in tuned if not cell.by_money]
    best = max(tuned, key=lambda cell: gain_of(records, cell).mean)
    gain = gain_of(records, best)
    solved = [cell for cell in cells if cell.packing == "opt"]
    near = [
        opt / tune
        for cell in solved
        for opt, tune in zip(
            _values(records, cell, "jct_mean_s"),
            _values(records, replace(cell, packing="tune", pooled=False), "jct_mean_s"),
            strict=False,
        )
    ]
    speed = [value for cell in tuned for value in _values(records, cell, "of_bound")]
    return [
        Bar(
            f"largest gain in mean JCT over proportional ({_cell_name(best)})",
            f"at least {BAR_GAIN:g}",
            gain,
            gain.mean >= BAR_GAIN,
        ),
        at_least("TUNE's mean JCT against OPT's, the worst cell and seed", min(near), BAR_OF_OPT),
        at_least(
            "TUNE's total speed as a share of the bound, the worst run",
            min(value for value in speed if not math.isnan(value)),
            BAR_OF_OPT,
        ),
        *(_no_slower(records, cell) for cell in by_money),
    ]


def _no_slower(records: Records, cell: SynergyCase) -> Bar:
    """fairwatt against the best of the orderings in the same cell, paired by seed."""
    ours = _values(records, cell, "jct_mean_s")
    # The first seeds were run of both.
    theirs = _values(records, replace(cell, by_money=False), "jct_mean_s")
    ratio = _spread([one / other for one, other in zip(ours, theirs, strict=False)])
    name = f"mean JCT of {_cell_name(cell)} as a share of {cell.ordering.upper()} {cell.packing}'s"
    return Bar(name, f"at most {BAR_BY_MONEY:g}", ratio, ratio.mean <= BAR_BY_MONEY)


def _cell_name(cell: SynergyCase) -> str:
    return cell.name().replace(f", seed {cell.seed}", "")


def _row(records: Records, cell: SynergyCase) -> list[str]:
    def text(figure: str, unit: float = 1.0) -> str:
        found = _spread(_values(records, cell, figure))
        return _ranged(Interval(found.mean / unit, found.low / unit, found.high / unit))

    hours = [text(name, HOUR_S) for name in ("jct_mean_s", "jct_median_s", "jct_p99_s")]
    gain = _ranged(gain_of(records, cell)) if _baseline(cell).name() in records else "-"
    shares = [text(name) for name in ("gpus_held", "cpus_given", "cpus_used", "of_bound")]
    primary = cell == SynergyCase(cell.ordering, cell.packing)
    authors = AUTHORS_H.get((cell.ordering, cell.packing)) if primary else None
    said = "-" if authors is None else figure_text(authors)
    return [_cell_name(cell), *hours, gain, *shares, text("preemptions"), said]


def _ranged(found: Interval) -> str:
    low, high = figure_text(found.low), figure_text(found.high)
    mean = figure_text(found.mean)
    return mean if low == high else f"{mean} [{low}, {high}]"


def _plotted(records: Records, cells: Sequence[SynergyCase]) -> dict[str, Mapping[str, Any]]:
    """Records by the label of their curve."""
    shown: tuple[PackingName, ...] = ("proportional", "greedy", "tune")
    cases = [
        case
        for ordering in ORDERINGS
        for packing in shown
        for case in (
            SynergyCase(ordering, packing),
            SynergyCase(ordering, packing, "multi", MULTI_LOAD),
        )
    ]
    return {
        **{
            f"{case.ordering.upper()} {case.packing}, {case.gangs}": records[case.name()]
            for case in cases
        },
        **{
            f"fairwatt, {cell.gangs}": records[cell.name()]
            for cell in cells
            if plotted(cell) and cell.by_money
        },
    }


EXPERIMENT = Experiment(
    title="Synergy: CPUs and memory by sensitivity",
    notes=[
        "Servers of 8 V100, 24 CPUs and 500 GB; rounds every 300 s; statistics over jobs "
        "4000 to 5000. Load is jobs per hour on 128 GPUs, and in proportion on other clusters.",
        "OPT's linear program takes CPUs and memory for granted wherever they are wanted, so "
        "that it is run on a cluster whose servers are pooled. 'Staying' is TUNE without "
        "exchanging the places of running jobs.",
        "fairwatt plans with a price on waiting and next to none on energy: it is after the "
        "same mean completion time.",
    ],
    settings=_settings,
    seeds=SEEDS,
    cases=lambda: named(grid()),
    run=run_case,
    findings=findings,
)
