"""What must not matter does not: the same schedule for worlds that differ in names or scale."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from policies.contract.columns import I64
from policies.contract.plan import Plan
from policies.contract.snapshot import NodeState, PriceTable, ProfileTable, Snapshot, TenantTable
from policies.registry import build, policy_names
from tests.examples import each_seed
from tests.policies.random_worlds import elastic_world, random_world
from tests.policies.worlds import NOW_S

HOUR_S = 3600.0
QUICK: dict[str, Any] = {"andreas": {"iterations": 20}}
Parameters = dict[str, Any]


def world_of(seed: int) -> Snapshot:
    make = elastic_world if seed % 2 else random_world
    return make(seed, nodes=6, queue=10, run=8).snapshot()


def priced(seed: int, *, flat: bool = False) -> Snapshot:
    rng = np.random.default_rng(seed)
    hours_s = NOW_S // HOUR_S * HOUR_S + np.arange(48) * HOUR_S
    price = np.full(48, 0.25) if flat else rng.integers(1, 60, 48) / 64
    snapshot = world_of(seed)
    return replace(snapshot, prices=PriceTable.of(from_s=hours_s, price_per_kwh=price))


def schedule(plan: Plan) -> dict[int, Any]:
    """What is done to whom; not what it is worth, and not why others wait."""
    placed = {entry.job: entry for entry in (*plan.starts, *plan.moves, *plan.resizes)}
    others = {entry.job: entry for entry in (*plan.clocks, *plan.retunes)}
    stopped = {entry.job: ("preempted", entry.for_job) for entry in plan.preempts}
    switched = {-entry.node: entry.on for entry in plan.power}
    return {**placed, **others, **stopped, **switched}


def planned(name: str, snapshot: Snapshot, **parameters: Any) -> dict[int, Any]:
    plan = build(name, {**QUICK.get(name, {}), **parameters}).plan(snapshot)
    return schedule(plan)


every_policy = pytest.mark.parametrize("name", policy_names())


def relabelled(snapshot: Snapshot, order: I64) -> Snapshot:
    """Tenants in another order, with other ids."""
    place = np.argsort(order)
    tenants = TenantTable.of(**{name: col[order] for name, col in snapshot.tenants.columns()})
    tenants = replace(tenants, id=tenants.id[::-1] + 77)
    jobs = replace(snapshot.jobs, tenant=place[snapshot.jobs.tenant].astype(np.int32))
    return replace(snapshot, tenants=tenants, jobs=jobs)


@every_policy
@each_seed(30)
def test_names_of_tenants_do_not_matter(name: str, seed: int) -> None:
    snapshot = priced(seed)
    order = np.arange(len(snapshot.tenants))[::-1]
    assert planned(name, relabelled(snapshot, order)) == planned(name, snapshot)


def dearer(snapshot: Snapshot) -> Snapshot:
    prices = replace(snapshot.prices, price_per_kwh=2 * snapshot.prices.price_per_kwh)
    jobs = replace(snapshot.jobs, tardiness_weight=2 * snapshot.jobs.tardiness_weight)
    return replace(snapshot, prices=prices, jobs=jobs)


DOUBLED: dict[str, Parameters] = {
    "fairwatt": {"wait_price_per_h": 0.2, "assumed_price_per_kwh": 0.3},
    "andreas": {"priority_weights": [0.5, 1.0, 2.0], "default_price_per_kwh": 0.5},
    "first-principle": {"priority_weights": [0.5, 1.0, 2.0], "default_price_per_kwh": 0.5},
}


def halved(name: str) -> Parameters:
    doubled = DOUBLED.get(name, {})
    return {key: (np.array(value) / 2).tolist() for key, value in doubled.items()}


@every_policy
@each_seed(30)
def test_money_has_no_unit(name: str, seed: int) -> None:
    snapshot = priced(seed)
    rng = np.random.default_rng([seed, 5])
    weights = rng.integers(0, 9, len(snapshot.jobs)) / 1024
    snapshot = replace(snapshot, jobs=replace(snapshot.jobs, tardiness_weight=weights))
    twice = planned(name, dearer(snapshot), **DOUBLED.get(name, {}))
    assert twice == planned(name, snapshot, **halved(name))


def with_useless_node(snapshot: Snapshot) -> Snapshot:
    """One more node, of a GPU type that no job allows."""
    kinds = len(snapshot.gpu_types)
    one: dict[str, float] = {
        "id": 99,
        "gpu_type": kinds,
        "gpus": 8,
        "free_gpus": 255,
        "rack": -1,
        "switch": -1,
    }
    one |= {"state": NodeState.READY, "partition": -1, "host_idle_w": 0.0, "host_peak_w": 0.0}
    more = {
        name: np.append(values, np.array(one.get(name, 10**5), values.dtype))
        for name, values in snapshot.nodes.columns()
    }
    jobs, tenants = snapshot.jobs, snapshot.tenants
    beside = np.full((len(tenants), 1), -1, np.int32)
    known = np.uint64((1 << kinds) - 1)
    return replace(
        snapshot,
        nodes=type(snapshot.nodes).of(**more),
        jobs=replace(jobs, gpu_types=jobs.gpu_types & known),
        gpu_types=type(snapshot.gpu_types).of(
            name=(*snapshot.gpu_types.name, "useless"),
            idle_w=np.append(snapshot.gpu_types.idle_w, 0.0),
            max_w=np.append(snapshot.gpu_types.max_w, 1.0),
        ),
        tenants=replace(
            tenants,
            quota_by_type=np.hstack([tenants.quota_by_type, beside]),
            used_by_type=np.hstack([tenants.used_by_type, beside * 0]),
        ),
        profiles=_unmeasured_beside(snapshot.profiles),
    )


def _unmeasured_beside(profiles: ProfileTable) -> ProfileTable:
    """Nothing is known of the new type."""
    widened: dict[str, Any] = dict(profiles.columns())
    for name in ("throughput", "watts_per_gpu"):
        values = widened[name]
        widened[name] = np.concatenate([values, np.full_like(values[:, :1], np.nan)], axis=1)
    clocks = widened["clocks_mhz"]
    widened["clocks_mhz"] = np.concatenate([clocks, clocks[:1]])
    return ProfileTable.of(**widened)


@every_policy
@each_seed(30)
def test_a_node_that_nobody_may_use_does_not_matter(name: str, seed: int) -> None:
    snapshot = priced(seed)
    beside = planned(name, with_useless_node(snapshot))
    beside.pop(-99, None)
    assert beside == planned(name, snapshot)


def later(snapshot: Snapshot, by_s: float) -> Snapshot:
    """All of it so much later."""
    jobs, times = snapshot.jobs, ("submitted_s", "deadline_s", "started_s", "checkpoint_s")
    shifted = {name: getattr(jobs, name) + by_s for name in times}
    prices = replace(snapshot.prices, from_s=snapshot.prices.from_s + by_s)
    return replace(
        snapshot,
        now_s=snapshot.now_s + by_s,
        energy_until_s=snapshot.energy_until_s + by_s,
        jobs=replace(jobs, **shifted),
        prices=prices,
    )


@every_policy
@each_seed(30)
def test_a_week_later_is_the_same_under_a_flat_price(name: str, seed: int) -> None:
    snapshot = priced(seed, flat=True)
    assert planned(name, later(snapshot, 7 * 86_400.0)) == planned(name, snapshot)


Change = Callable[[Snapshot], Snapshot]


@pytest.mark.parametrize("change", [dearer, with_useless_node, lambda one: later(one, 1.0)])
def test_the_changes_change_something(change: Change) -> None:
    snapshot = priced(1)
    assert change(snapshot).digest() != snapshot.digest()
