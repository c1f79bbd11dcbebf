"""Joules, money and grams of a run, integrated exactly over piecewise-constant watts and prices."""

from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from policies.contract.columns import F64
from policies.contract.snapshot import NodeState
from policies.pricing.curve import PriceCurve
from policies.pricing.peak import WINDOW_S, Metered, months_of, no_peaks_w, periods_of, raised_w
from policies.pricing.tariff import HourlyTariff, Tariff, demand_charge
from simulator.engine import Outcome
from simulator.log import Stretches


@dataclass(frozen=True, slots=True, eq=False)
class DrawnPower:
    """Watts of the whole cluster, PUE included, from `edges_s[i]` until `edges_s[i + 1]`."""

    edges_s: F64
    watts: F64

    def joules_until(self, t_s: F64) -> F64:
        areas = np.concatenate([[0.0], np.cumsum(self.watts * np.diff(self.edges_s))])
        return np.asarray(np.interp(t_s, self.edges_s, areas), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Energy:
    """Per stretch what its job added, and for the idle draw of the nodes as a whole."""

    stretch_j: F64
    stretch_cost: F64
    stretch_carbon_g: F64
    idle_j: float
    idle_cost: float
    idle_carbon_g: float


@dataclass(frozen=True, slots=True, eq=False)
class Idle:
    """Stretches of time in which nodes were not off, and what they drew without any job."""

    from_s: F64
    to_s: F64
    watts: F64


def idle_stretches(outcome: Outcome) -> Idle:
    nodes, idle_w = outcome.setting.machines.nodes, outcome.setting.machines.idle_w()
    if outcome.setting.empty_nodes_off:
        return _idle(_in_use(outcome), idle_w)
    on = np.flatnonzero(nodes.state != NodeState.OFF).tolist()
    on_since: dict[int, float] = dict.fromkeys(on, outcome.setting.origin_s)
    rows: list[tuple[int, float, float]] = []
    for at_s, node, state in outcome.log.node_changes:
        if state == NodeState.OFF and node in on_since:
            rows.append((node, on_since.pop(node), at_s))
        elif state != NodeState.OFF:
            on_since.setdefault(node, at_s)
    rows += [(node, since_s, outcome.ended_s) for node, since_s in on_since.items()]
    return _idle(rows, idle_w)


def _idle(rows: list[tuple[int, float, float]], idle_w: F64) -> Idle:
    if not rows:
        return Idle(np.empty(0), np.empty(0), np.empty(0))
    of_nodes, from_s, to_s = (np.array(column) for column in zip(*rows, strict=True))
    return Idle(from_s, to_s, idle_w[of_nodes])


def _in_use(outcome: Outcome) -> list[tuple[int, float, float]]:
    """(node, from, to) of every while in which a node has a job, neighbouring ones joined."""
    held: dict[int, list[tuple[float, float]]] = {}
    for stretch, pieces in zip(outcome.log.stretches, outcome.log.pieces, strict=True):
        for node, *_ in pieces:
            held.setdefault(node, []).append((stretch[1], stretch[2]))
    rows: list[tuple[int, float, float]] = []
    for node, whiles in held.items():
        whiles.sort()
        from_s, to_s = whiles[0]
        for next_from_s, next_to_s in whiles[1:]:
            if next_from_s > to_s:
                rows.append((node, from_s, to_s))
                from_s = next_from_s
            to_s = max(to_s, next_to_s)
        rows.append((node, from_s, to_s))
    return rows


def energy(outcome: Outcome, stretches: Stretches) -> Energy:
    setting, idle = outcome.setting, idle_stretches(outcome)
    watts, idle_w = stretches.watts * setting.pue, idle.watts * setting.pue

    def priced(curve: PriceCurve | None, watts: F64, from_s: F64, to_s: F64) -> F64:
        return np.zeros(len(watts)) if curve is None else curve.cost(watts, from_s, to_s)

    def of_idle(curve: PriceCurve | None) -> float:
        return float(priced(curve, idle_w, idle.from_s, idle.to_s).sum())

    return Energy(
        stretch_j=watts * (stretches.to_s - stretches.from_s),
        stretch_cost=priced(setting.price, watts, stretches.from_s, stretches.to_s),
        stretch_carbon_g=priced(setting.carbon, watts, stretches.from_s, stretches.to_s),
        idle_j=float((idle_w * (idle.to_s - idle.from_s)).sum()),
        idle_cost=of_idle(setting.price),
        idle_carbon_g=of_idle(setting.carbon),
    )


def draw(outcome: Outcome, stretches: Stretches) -> DrawnPower:
    idle = idle_stretches(outcome)
    from_s = np.concatenate([stretches.from_s, idle.from_s])
    to_s = np.concatenate([stretches.to_s, idle.to_s])
    watts = np.concatenate([stretches.watts, idle.watts]) * outcome.setting.pue
    edges_s, at = np.unique(np.concatenate([from_s, to_s]), return_inverse=True)
    change = np.zeros(len(edges_s))
    np.add.at(change, at, np.concatenate([watts, -watts]))
    return DrawnPower(edges_s, np.cumsum(change)[:-1])


def demand_cost(drawn: DrawnPower, tariff: Tariff) -> Decimal:
    """The demand charges of all months, by the highest mean draw of their metering windows."""
    if isinstance(tariff, HourlyTariff) or len(drawn.edges_s) < 2:
        return Decimal(0)
    first = int(drawn.edges_s[0] // WINDOW_S)
    last = int(np.ceil(drawn.edges_s[-1] / WINDOW_S))
    edges_s = np.arange(first, last + 1, dtype=np.float64) * WINDOW_S
    mean_w = np.diff(drawn.joules_until(edges_s)) / WINDOW_S
    starts_s = edges_s[:-1]
    months = months_of(tariff, starts_s)
    return sum(
        (
            _month_cost(mean_w[months == month], starts_s[months == month], tariff)
            for month in np.unique(months)
        ),
        Decimal(0),
    )


def _month_cost(mean_w: F64, starts_s: F64, tariff: Metered) -> Decimal:
    watts = raised_w(tariff, no_peaks_w(tariff), starts_s, mean_w)
    peak, *peaks = [Decimal(each / 1000) for each in watts]
    return demand_charge(peak, tariff.demand_charge_per_kw, periods_of(tariff), peaks)
