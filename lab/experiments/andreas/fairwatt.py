"""fairwatt beside ANDREAS in the published experiment, under its flat price and a time of use."""

from statistics import fmean
from typing import Any, NamedTuple

from lab.experiments.andreas.settings import INSTANCES, NODES, SEEDS, AndreasCase
from lab.experiments.andreas.tariff import TariffName
from lab.experiments.bars import Bar, at_most
from lab.experiments.frame import Records

BARS: dict[TariffName, float] = {"flat": 1.0, "time-of-use": 0.90}
FIGURES = ("total", "energy", "tardiness", "call_ms")


def grid() -> list[AndreasCase]:
    """What the published grid lacks for it, large ones first."""
    return [
        case
        for nodes in reversed(NODES)
        for instance in INSTANCES
        for case in (
            AndreasCase(nodes, instance, "fairwatt"),
            AndreasCase(nodes, instance, "fairwatt", tariff="time-of-use"),
            *(AndreasCase(nodes, instance, "andreas", seed, "time-of-use") for seed in SEEDS),
        )
    ]


class ComparedPlace(NamedTuple):
    """Where both methods are compared."""

    nodes: int
    instance: int
    tariff: TariffName


def rows_of(records: Records) -> list[dict[str, Any]]:
    """Per N, tariff and method its costs; for fairwatt what it saves, with the range."""
    rows: list[dict[str, Any]] = []
    for nodes in NODES:
        for tariff in BARS:
            places = [ComparedPlace(nodes, instance, tariff) for instance in INSTANCES]
            for method in ("andreas", "fairwatt"):
                costs = {
                    figure: fmean(figure_of(records, place, method, figure) for place in places)
                    for figure in FIGURES
                }
                rows.append({"nodes": nodes, "method": f"{method}, {tariff}", **costs})
            saved = [1 - ratio(records, place) for place in places]
            rows[-1] |= {
                "reduction": fmean(saved),
                "reduction_low": min(saved),
                "reduction_high": max(saved),
            }
    return rows


def bars_of(records: Records) -> list[Bar]:
    return [
        at_most(
            f"total cost of fairwatt over ANDREAS', {tariff} tariff",
            fmean(ratio(records, ComparedPlace(n, i, tariff)) for n in NODES for i in INSTANCES),
            bar,
        )
        for tariff, bar in BARS.items()
    ]


def ratio(records: Records, place: ComparedPlace) -> float:
    """Of the total costs of one instance, ANDREAS' as a mean over its seeds."""
    ours = figure_of(records, place, "fairwatt", "total")
    return ours / figure_of(records, place, "andreas", "total")


def figure_of(records: Records, place: ComparedPlace, method: str, figure: str) -> float:
    """The mean over seeds, where chance plays a part."""
    nodes, instance, tariff = place
    seeds = SEEDS if method == "andreas" else SEEDS[:1]
    cases = [AndreasCase(nodes, instance, method, seed, tariff) for seed in seeds]
    return fmean(float(records[case.name()][figure]) for case in cases)
