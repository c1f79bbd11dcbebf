"""The first simulated round of a live snapshot is the live round, whatever limits are in force."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import msgspec
import numpy as np
import pytest

from policies.contract.plan import Plan
from policies.contract.policy import Policy
from policies.contract.snapshot import Snapshot
from policies.pricing.curve import PriceCurve
from policies.pricing.published import seen_prices
from policies.pricing.tariff import FlatTariff
from policies.registry import build, policy_names
from simulator.engine import Pace
from simulator.live import EnergyTerms, Guess, Live, engine_from
from tests.examples import each_seed
from tests.policies.random_worlds import any_size, elastic_world, sensitive_world
from tests.policies.worlds import NOW_S, World

HOUR_S = 3600
AHEAD_S = 48 * HOUR_S
ACTS = ("starts", "preempts", "moves", "resizes", "clocks", "retunes", "power")
PER_W = 0.01


class First:
    """The policy itself, which keeps what it saw and said in the first round."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.work_conserving, self.minds_running = policy.work_conserving, True
        self.seen: Snapshot | None = None
        self.said = Plan()

    def plan(self, snapshot: Snapshot) -> Plan:
        if self.seen is None:
            self.seen, self.said = snapshot, self._policy.plan(snapshot)
        return Plan()


def live_world(seed: int, *, nodes: int, queue: int, run: int) -> World:
    """An elastic world in which jobs are as a live queue has them."""
    rng = np.random.default_rng([seed, 3])
    make = elastic_world if rng.random() < 0.5 else sensitive_world
    world = make(seed, nodes=nodes, queue=queue, run=run)
    for job in world.jobs:
        left = job.columns.get("work_left", np.nan)
        job.columns["work_total"] = left + float(rng.integers(5000)) * (rng.random() < 0.5)
    return world


def snapshot_and_terms(seed: int) -> tuple[Snapshot, EnergyTerms]:
    """With prices, carbon, a peak that is charged for, and GPUs held elsewhere, or without."""
    rng = np.random.default_rng([seed, 4])
    world = any_size(seed, live_world, nodes=6, run=8)
    snapshot, terms = world.snapshot(), EnergyTerms()
    if rng.random() < 0.7:
        price, carbon = _curve(rng), _curve(rng)
        prices = seen_prices(price, carbon, snapshot.now_s)
        snapshot = replace(snapshot, prices=prices)
        terms = replace(terms, price=price, carbon=carbon)
    if rng.random() < 0.5:
        peak_w = float(rng.integers(10_000))
        snapshot = replace(snapshot, peak_w=peak_w, demand_price_per_w=PER_W)
        terms = replace(terms, tariff=FlatTariff(Decimal("0.1"), Decimal(10)))
    elsewhere = rng.integers(6, size=len(snapshot.tenants))
    used = {"used_gpus": snapshot.tenants.used_gpus + elsewhere}
    tenants = type(snapshot.tenants).of(**{**dict(snapshot.tenants.columns()), **used})
    pue = 1.0 + float(rng.integers(4)) / 10
    return replace(snapshot, tenants=tenants, pue=pue, seed=int(rng.integers(2**40))), terms


def _curve(rng: np.random.Generator) -> PriceCurve:
    edges_s = (NOW_S + HOUR_S * np.arange(10 * 24 + 1)).astype(np.int64)
    return PriceCurve.piecewise(
        edges_s, [Decimal(int(p)) / 1000 for p in rng.integers(400, size=240)]
    )


def first_round(
    snapshot: Snapshot, terms: EnergyTerms, policy: Policy, **guess: Any
) -> tuple[First, Live]:
    first = First(policy)
    live = engine_from(snapshot, first, Pace(until_s=NOW_S), Guess(**guess), terms=terms)
    live.engine.run()
    return first, live


@pytest.mark.slow
@pytest.mark.parametrize("name", policy_names())
@each_seed(30)
def test_a_policy_plans_the_same_in_the_world_as_live(name: str, seed: int) -> None:
    snapshot, terms = snapshot_and_terms(seed)
    first, live = first_round(snapshot, terms, build(name, {}))
    # Without a job a run has no rounds.
    if first.seen is not None:
        assert acts(build(name, {}).plan(snapshot)) == acts(first.said, live.job_ids, snapshot)


@each_seed(30)
def test_a_policy_sees_the_snapshot_in_the_world(seed: int) -> None:
    """But for ids, who may not start, steps of no known speed, checkpoints of other attempts."""
    snapshot, terms = snapshot_and_terms(seed)
    first, live = first_round(snapshot, terms, build("fifo", {}), seed=7, spread=0.5)
    if not len(live.job_ids):
        return
    assert first.seen is not None
    rows = np.flatnonzero(np.isin(snapshot.jobs.id, live.job_ids))
    saved_s = np.fmax(snapshot.jobs.checkpoint_s, snapshot.jobs.started_s)
    told = {**dict(snapshot.jobs.columns()), "checkpoint_s": saved_s}
    profiled = snapshot.jobs.profile[rows] >= 0
    for name, values in first.seen.jobs.columns():
        asked = profiled if name == "work_left" else np.full(len(rows), name != "id")
        np.testing.assert_array_equal(values[asked], told[name][rows][asked], name)
    for table in (
        "placements",
        "nodes",
        "gpu_types",
        "partitions",
        "tenants",
        "profiles",
        "prices",
    ):
        ours = dict(getattr(first.seen, table).columns())
        for name, values in getattr(snapshot, table).columns():
            if name not in {"id", "offset"}:
                np.testing.assert_array_equal(ours[name], values, f"{table}.{name}")
    for name in snapshot.__dataclass_fields__:
        told = getattr(snapshot, name)
        if isinstance(told, float | int):
            assert getattr(first.seen, name) == told, name


def acts(plan: Plan, job_ids: Any = None, snapshot: Snapshot | None = None) -> list[Any]:
    """What a plan does, in ids of the live cluster; what it says of waits is not asked."""
    done = {name: msgspec.to_builtins(getattr(plan, name)) for name in ACTS}
    for entry in (entry for entries in done.values() for entry in entries):
        for key in {"job", "for_job", "node"} & entry.keys():
            entry[key] = _id(entry[key], key, job_ids, snapshot)
        for piece in entry.get("pieces", ()):
            piece["node"] = _id(piece["node"], "node", job_ids, snapshot)
    return [done]


def _id(row: int, key: str, job_ids: Any, snapshot: Snapshot | None) -> int:
    if snapshot is None:
        return row
    return int(snapshot.nodes.id[row] if key == "node" else job_ids[row])
