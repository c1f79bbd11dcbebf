"""From a stored request and a seed to an engine that is ready to run."""

import tempfile
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from clusters.models import Cluster
from policies.contract.snapshot import NodeState, NodeTable, PartitionTable, Snapshot
from policies.pricing import tariff as pure
from policies.pricing.curve import PriceCurve
from policies.pricing.published import BEHIND_S
from policies.registry import build as build_policy
from scheduling.snapshot.load import load_snapshot
from simulator.budget_response import Bounded
from simulator.engine import Engine, Pace
from simulator.live import engine_from, machines_of
from simulator.machines import Machines
from simulator.scenario.build import build
from simulator.scenario.prices import AFTER_S
from simulator.setting import Setting
from tariffs.curves import pure_tariff
from tariffs.models import Tariff
from tenancy.models import Tenant
from whatif.changes import changed
from whatif.energy_terms import energy_terms
from whatif.history import guess_of
from whatif.models import Simulation, SimulationRun
from whatif.power_windows import PowerWindows
from whatif.request import TRACE_FILE, label, scenario_of

# That a power budget ends is no event of the queue: a round is held so long after the last.
AT_LATEST_S = 300.0


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """`read` says what was used of the trace."""

    engine: Engine
    tariff: pure.Tariff | None
    read: list[str]


def prepare(simulation: Simulation, run: SimulationRun, *, now: datetime) -> PreparedRun:
    if simulation.kind == Simulation.Kind.LIVE:
        return _live(simulation, run, now)
    return _of_trace(simulation, run, now)


def _of_trace(simulation: Simulation, run: SimulationRun, now: datetime) -> PreparedRun:
    request = simulation.request
    machines = None if simulation.cluster is None else _machines(simulation.cluster, now)
    with tempfile.TemporaryDirectory(prefix="fairwatt-simulation-") as name:
        if request["trace"] is not None:
            (Path(name) / TRACE_FILE).write_text(request["trace"]["lines"])
        built = build(scenario_of(request), run.seed, Path(name), machines)
    tariff, price = priced(request["tariff"], built.setting)
    market = _market(request["tariff"])
    setting = replace(built.setting, price=price, tariff=tariff, market_timezone=market)
    if simulation.cluster is not None:
        cluster = simulation.cluster
        setting = replace(setting, power_off=cluster.power_off, min_idle_s=cluster.min_idle_s)
    pace = replace(built.pace, until_s=_until_s(request, setting.origin_s))
    engine = Engine(setting, build_policy(run.policy, run.parameters), pace)
    return PreparedRun(
        engine, tariff, [line for report in built.reports for line in report.lines()]
    )


def _live(simulation: Simulation, run: SimulationRun, now: datetime) -> PreparedRun:
    if simulation.cluster is None:
        raise ValueError("a live simulation has a cluster")
    request, snapshot = simulation.request, shared_snapshot(simulation, now=now)
    own = simulation.cluster.tariff
    changes = _changes(request, run)
    asked = (changes["tariff"] if changes else None) or request["tariff"]
    named = asked or (None if own is None else own.name)
    tariff, price = _priced(named, snapshot.now_s, snapshot.now_s)
    begun_at = datetime.fromtimestamp(snapshot.now_s, UTC)
    terms = energy_terms(simulation.cluster, now=begun_at, seconds=AFTER_S)
    if own is None or named != own.name:
        terms = replace(terms, price=price, tariff=tariff)
    until_s, rounds = _until_s(request, snapshot.now_s), request["rounds"]
    budgets = PowerWindows(simulation.cluster, snapshot)
    last_at = datetime.fromtimestamp(min(until_s, snapshot.now_s + AFTER_S), UTC)
    windows = budgets.until(last_at, now=begun_at)
    pace = Pace(
        interval_s=rounds["interval_s"] or float("inf"),
        at_latest_s=AT_LATEST_S if windows else float("inf"),
        on_events=rounds["on_events"],
        until_s=until_s,
    )
    guess = replace(guess_of(simulation.cluster.pk), seed=run.seed)
    policy = Bounded(build_policy(run.policy, run.parameters), windows)
    world = changed(budgets.left_out_of(snapshot), changes, simulation.cluster)
    live = engine_from(world, policy, pace, guess, terms=terms)
    return PreparedRun(live.engine, tariff, [])


def _changes(request: dict[str, Any], run: SimulationRun) -> dict[str, Any] | None:
    """Of the run's own policy; requests stored before there were any name none."""
    own = [chosen for chosen in request["policies"] if label(chosen) == run.label]
    return own[0].get("changes") if own else None


def tenant_names(engine: Engine, simulation: Simulation) -> tuple[str, ...]:
    """A live world knows its tenants by id."""
    names = engine.setting.tenant_names
    if simulation.kind == Simulation.Kind.TRACE:
        return names
    known = dict(Tenant.objects.values_list("pk", "name"))
    return tuple(known.get(int(name), name) for name in names)


def shared_snapshot(simulation: Simulation, *, now: datetime) -> Snapshot:
    """The queue as the first run found it; whoever comes second keeps to it."""
    stored = Simulation.objects.filter(pk=simulation.pk)
    kept = stored.values_list("snapshot", flat=True).get()
    if kept is None and simulation.cluster is not None:
        loaded = load_snapshot(simulation.cluster, now=now, seed=0).to_bytes()
        stored.filter(snapshot__isnull=True).update(snapshot=loaded)
        kept = stored.values_list("snapshot", flat=True).get()
    if kept is None:
        raise ValueError("a live simulation has a cluster")
    return Snapshot.from_bytes(bytes(kept))


def priced(name: str | None, setting: Setting) -> tuple[pure.Tariff | None, PriceCurve | None]:
    return _priced(name, setting.origin_s, float(setting.jobs.submitted_s[-1]))


def _priced(
    name: str | None, first_s: float, last_s: float
) -> tuple[pure.Tariff | None, PriceCurve | None]:
    """The tariff and its curve from a day before the start to a year after the last job came."""
    row = None if name is None else Tariff.objects.filter(name=name).first()
    if row is None:
        return None, None
    start_s, end_s = int(first_s) - BEHIND_S, int(last_s) + AFTER_S
    tariff = pure_tariff(row, start_s, end_s)
    return tariff, tariff.curve(start_s, end_s)


def _market(name: str | None) -> str | None:
    """Whoever runs a trace of the past must not know prices before they were published."""
    hourly = Tariff.objects.filter(name=name, kind=Tariff.Kind.HOURLY)
    return hourly.values_list("timezone", flat=True).first()


def _machines(cluster: Cluster, now: datetime) -> Machines:
    """All nodes of the cluster as if they were ready, without its partitions."""
    machines = machines_of(load_snapshot(cluster, now=now, seed=0))
    columns: dict[str, Any] = {f.name: getattr(machines.nodes, f.name) for f in fields(NodeTable)}
    count = len(machines.nodes)
    if not count:
        raise ValueError("the cluster has no nodes")
    columns |= {"state": np.full(count, NodeState.READY), "partition": np.full(count, -1)}
    none = PartitionTable.of(name=(), id=[])
    return replace(machines, nodes=NodeTable.of(**columns), partitions=none)


def _until_s(request: dict[str, Any], origin_s: float) -> float:
    days = request["days"]
    return float("inf") if days is None else origin_s + days * 86_400
