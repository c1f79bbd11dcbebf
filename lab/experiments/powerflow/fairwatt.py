"""fairwatt's dial beside PowerFlow-style's sweep: completion times at equal energy."""

from collections.abc import Mapping, Sequence
from typing import Any

from lab.experiments.bars import Bar, at_least
from lab.experiments.powerflow.curve import CurvePoint, ratio, spread
from simulator.report.figures import figure_text

Curves = Mapping[int, Sequence[CurvePoint]]
"""By window."""
BAR = 1.05


def at_their_energy(ours: Curves, theirs: Curves) -> dict[int, list[float]]:
    """JCT of each of their points over ours at its energy; nan where we never spend so little."""
    return {w: [ratio(ours[w], point) for point in points] for w, points in theirs.items()}


def at_our_energy(ours: Curves, theirs: Curves) -> dict[int, list[float]]:
    """Their JCT at the energy of each of our points, over ours."""
    return {w: [1 / ratio(theirs[w], point) for point in points] for w, points in ours.items()}


def bar_of(ours: Curves, theirs: Curves) -> Bar:
    found = [one for by in at_their_energy(ours, theirs).values() for one in by]
    name = "JCT of PowerFlow-style over fairwatt's at equal energy, median over windows and eta"
    return at_least(name, spread(found).median, BAR)


def results_of(ours: Curves, theirs: Curves) -> dict[str, Any]:
    return {
        "at_powerflow_energy": at_their_energy(ours, theirs),
        "at_fairwatt_energy": at_our_energy(ours, theirs),
    }


def table_of(
    ours: Curves, theirs: Curves, etas: Sequence[float], prices: Sequence[float]
) -> list[list[str]]:
    """A row per eta and per price of waiting, a column per window."""
    rows = [["JCT of PowerFlow-style over fairwatt's", *(f"window {w}" for w in theirs)]]
    for heads, ratios in (
        ([f"at the energy of eta {eta:g}" for eta in etas], at_their_energy(ours, theirs)),
        ([f"at that of wait price {price:g}" for price in prices], at_our_energy(ours, theirs)),
    ):
        for at, head in enumerate(heads):
            rows.append([head, *(figure_text(by[at]) for by in ratios.values())])
    return rows
