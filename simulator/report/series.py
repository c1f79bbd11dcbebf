"""What the plots of a run show, thinned to a size that a page can carry."""

from typing import Any

import msgspec
import numpy as np

from policies.contract.columns import F64
from simulator.engine import Outcome
from simulator.measure import RunFigures

POINTS = 600
QUANTILES = 200
# A page stays quick to open with this many bars.
GANTT_BARS = 4000


class PlotSeries(msgspec.Struct, frozen=True):
    """Times are hours since the start; nan is None so that it can be written as JSON."""

    jct_s: list[float]
    hours: list[float]
    allocated: list[float | None]
    busy: list[float | None]
    queued: list[float | None]
    kw: list[float | None]
    price: list[float | None]
    fragmentation_hours: list[float]
    fragmentation: list[float | None]
    gantt: list[tuple[int, int, int, float, float]]
    """Node, lowest GPU, GPUs there, from and to in hours; the bars of the first nodes."""
    nodes: int
    gpus_per_node: list[int]


def series_of(outcome: Outcome, measured: RunFigures) -> PlotSeries:
    origin_s, ended_s = outcome.setting.origin_s, outcome.ended_s
    edges_s = np.linspace(origin_s, max(ended_s, origin_s + 1.0), POINTS + 1)
    stretches, jobs = measured.stretches, measured.jobs
    gpus = outcome.setting.machines.gpus
    held = _mean_level(stretches.from_s, stretches.to_s, stretches.gpus, edges_s)
    resumes_s = np.minimum(stretches.from_s + stretches.idle_s, stretches.to_s)
    busy = _mean_level(resumes_s, stretches.to_s, stretches.gpus, edges_s)
    alive_to_s = np.where(np.isnan(jobs.finished_s), ended_s, jobs.finished_s)
    alive = _mean_level(jobs.submitted_s, alive_to_s, np.ones(len(jobs)), edges_s)
    running = _mean_level(stretches.from_s, stretches.to_s, np.ones(len(stretches)), edges_s)
    kw = np.diff(measured.drawn.joules_until(edges_s)) / np.diff(edges_s) / 1000
    price = outcome.setting.price
    prices = np.full(POINTS, np.nan) if price is None else price.price_at(edges_s[:-1])
    fragmented_h, fragmented = _fragmentation(outcome)
    done_s = jobs.jct_s[~np.isnan(jobs.jct_s)]
    return PlotSeries(
        jct_s=np.quantile(done_s, np.linspace(0, 1, QUANTILES)).tolist() if len(done_s) else [],
        hours=((edges_s[:-1] - origin_s) / 3600).round(4).tolist(),
        allocated=_plain(held / gpus),
        busy=_plain(busy / gpus),
        queued=_plain(np.maximum(alive - running, 0)),
        kw=_plain(kw),
        price=_plain(prices),
        fragmentation_hours=fragmented_h.tolist(),
        fragmentation=_plain(fragmented),
        gantt=_gantt(outcome, measured),
        nodes=len(outcome.setting.machines.nodes),
        gpus_per_node=outcome.setting.machines.nodes.gpus.tolist(),
    )


def _mean_level(from_s: F64, to_s: F64, amount: Any, edges_s: F64) -> F64:
    """The mean over every interval of what is there from `from_s` until `to_s`."""
    times, at = np.unique(np.concatenate([from_s, to_s, edges_s[:1]]), return_inverse=True)
    change = np.zeros(len(times))
    np.add.at(change, at[: 2 * len(from_s)], np.concatenate([amount, np.negative(amount)]))
    area = np.concatenate([[0.0], np.cumsum(np.cumsum(change)[:-1] * np.diff(times))])
    return np.asarray(np.diff(np.interp(edges_s, times, area)) / np.diff(edges_s))


def _fragmentation(outcome: Outcome) -> tuple[F64, F64]:
    samples = outcome.samples
    free, useless = samples.free.sum(axis=1), samples.useless.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(free > 0, useless / free, np.nan)
    step = max(len(share) // POINTS, 1)
    hours = (samples.at_s - outcome.setting.origin_s) / 3600
    return hours[::step], share[::step]


def _gantt(outcome: Outcome, measured: RunFigures) -> list[tuple[int, int, int, float, float]]:
    """The bars of as many nodes, from the first, as fit on a page."""
    stretches, origin_s = measured.stretches, outcome.setting.origin_s
    bars: dict[int, list[tuple[int, int, int, float, float]]] = {}
    for pieces, from_s, to_s in zip(
        outcome.log.pieces, stretches.from_s.tolist(), stretches.to_s.tolist(), strict=True
    ):
        for node, mask, _, _ in pieces:
            low = (mask & -mask).bit_length() - 1
            hours = (round((t - origin_s) / 3600, 3) for t in (from_s, to_s))
            start_h, end_h = hours
            bars.setdefault(node, []).append((node, low, mask.bit_count(), start_h, end_h))
    chosen: list[tuple[int, int, int, float, float]] = []
    for node in sorted(bars):
        if chosen and len(chosen) + len(bars[node]) > GANTT_BARS:
            break
        chosen += bars[node][:GANTT_BARS]
    return chosen


def _plain(values: F64) -> list[float | None]:
    return [None if np.isnan(value) else round(float(value), 6) for value in values]
