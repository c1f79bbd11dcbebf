"""When the last run of a simulation has ended: its results and its report page."""

import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from django.db import transaction

from simulator.metrics.intervals import Interval, interval
from simulator.report.conclusion import conclusion
from simulator.report.files import plain
from simulator.report.page import CURVES_SHOWN, SIDE_BY_SIDE, PlottedCurve, page
from simulator.report.series import PlotSeries
from simulator.report.table import comparison_table
from tariffs.models import Tariff
from whatif.models import LIVE, Simulation, SimulationRun, WorkState

Intervals = dict[str, dict[str, Interval]]


@transaction.atomic
def settle(simulation_id: int, *, now: datetime) -> None:
    """Harmless when repeated; the lock lets one of two last runs go first."""
    simulation = Simulation.objects.select_for_update().get(pk=simulation_id)
    runs = list(SimulationRun.objects.filter(simulation=simulation_id).order_by("number"))
    if simulation.state not in LIVE or any(run.state in LIVE for run in runs):
        return
    done = [run for run in runs if run.state == WorkState.SUCCEEDED]
    failed = [run for run in runs if run.state == WorkState.FAILED]
    simulation.state = WorkState.FAILED if failed else WorkState.SUCCEEDED
    simulation.error = "; ".join(dict.fromkeys(f"{run}: {run.error}" for run in failed[:5]))
    simulation.ended_at = now
    if done:
        found = intervals(done)
        simulation.results = results(done, found)
        simulation.report = report(simulation, done, found).encode()
    simulation.save(update_fields=["state", "error", "ended_at", "results", "report"])


def intervals(runs: Sequence[SimulationRun]) -> Intervals:
    """Over the seeds of every label, figure by figure."""
    by_label: dict[str, list[dict[str, float | None]]] = {}
    for run in runs:
        by_label.setdefault(run.label, []).append(_metrics(run)["summary"])
    return {
        label: {
            figure: interval([_number(s[figure]) for s in summaries]) for figure in summaries[0]
        }
        for label, summaries in by_label.items()
    }


def results(runs: Sequence[SimulationRun], found: Intervals) -> dict[str, Any]:
    rows = [
        {
            "policy": run.policy,
            "label": run.label,
            "seed": run.seed,
            "figures": _metrics(run)["summary"],
            "tenants": _metrics(run)["tenants"],
            "partitions": _metrics(run)["partitions"],
        }
        for run in runs
    ]
    bounds = {
        label: {figure: bounds._asdict() for figure, bounds in figures.items()}
        for label, figures in found.items()
    }
    plain_results: dict[str, Any] = plain({"rows": rows, "intervals": bounds})
    return plain_results


def report(simulation: Simulation, runs: Sequence[SimulationRun], found: Intervals) -> str:
    curves = [
        PlottedCurve(
            run.label, msgspec.json.decode(zlib.decompress(bytes(run.series)), type=PlotSeries)
        )
        for run in runs
        if run.series is not None
    ]
    seeds = ", ".join(map(str, simulation.request["seeds"]))
    return page(
        title=str(simulation),
        facts={"Seeds": seeds, "Policies": ", ".join(found)},
        conclusion=conclusion(found),
        tables=[(SIDE_BY_SIDE, comparison_table(found, _currency(simulation)))],
        curves=curves[:CURVES_SHOWN],
        notes=list(dict.fromkeys(line for run in runs for line in _metrics(run)["read"])),
    )


def conclusion_of(results: Mapping[str, Any]) -> str:
    """What stored results come to, in a sentence; the rows know which policy was the first."""
    labels = dict.fromkeys(row["label"] for row in results["rows"])
    return conclusion({label: _intervals(results["intervals"][label]) for label in labels})


def _intervals(stored: Mapping[str, Mapping[str, float | None]]) -> dict[str, Interval]:
    return {
        figure: Interval(**{name: _number(value) for name, value in bounds.items()})
        for figure, bounds in stored.items()
    }


def _currency(simulation: Simulation) -> str:
    """Of the tariff that was asked for; else the cluster's, if it has a tariff."""
    named = simulation.request["tariff"]
    if named is not None:
        return Tariff.objects.filter(name=named).values_list("currency", flat=True).first() or ""
    own = simulation.cluster and simulation.cluster.tariff
    return own.currency if own else ""


def _metrics(run: SimulationRun) -> dict[str, Any]:
    return run.metrics or {}


def _number(figure: float | None) -> float:
    """JSON has no nan, so it was stored as null."""
    return float("nan") if figure is None else figure
