"""Worlds that differ in one thing from the one that a wait was explained in."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from policies.contract.columns import I64
from policies.contract.plan import Wait
from policies.contract.snapshot import UNLIMITED, Blocked, NodeState, Snapshot, Span
from policies.explain.reasons import Remedy, WaitReason

Change = Callable[[Snapshot, int, Remedy], Snapshot]
"""Of the job in a row, as a remedy says."""

# Watts are summed in another order.
SLACK_W = 1e-3


def _with(table: Any, name: str, row: int, value: Any) -> Any:
    column = getattr(table, name).copy()
    column[row] = value
    return replace(table, **{name: column})


def _row(ids: I64, identity: int) -> int:
    return int(np.flatnonzero(ids == identity)[0])


def _job(name: str, value: Any) -> Change:
    return lambda snapshot, row, _: replace(snapshot, jobs=_with(snapshot.jobs, name, row, value))


def _tenant(name: str, value: Any) -> Change:
    def change(snapshot: Snapshot, row: int, _: Remedy) -> Snapshot:
        tenant = int(snapshot.jobs.tenant[row])
        return replace(snapshot, tenants=_with(snapshot.tenants, name, tenant, value))

    return change


def _asks_for(name: str) -> Change:
    return lambda snapshot, row, remedy: _job(name, remedy.to)(snapshot, row, remedy)


def _without_quotas(snapshot: Snapshot, row: int, remedy: Remedy) -> Snapshot:
    lifted = _tenant("quota_gpus", UNLIMITED)(snapshot, row, remedy)
    return _tenant("quota_by_type", UNLIMITED)(lifted, row, remedy)


def without_power(snapshot: Snapshot) -> Snapshot:
    """No budgets, and every node that is off is on."""
    nodes, partitions = snapshot.nodes, snapshot.partitions
    state = np.where(nodes.state == NodeState.OFF, NodeState.READY, nodes.state).astype(np.uint8)
    endless = np.full(len(partitions), np.inf)
    return replace(
        snapshot,
        nodes=replace(nodes, state=state),
        partitions=replace(partitions, power_budget_w=endless),
        power_budget_w=np.inf,
        energy_left_j=np.inf,
    )


def flat(snapshot: Snapshot) -> Snapshot:
    """The mean price at all hours."""
    prices = snapshot.prices
    mean = np.full(len(prices), prices.price_per_kwh.mean())
    return replace(snapshot, prices=replace(prices, price_per_kwh=mean))


def _allow_type(snapshot: Snapshot, row: int, remedy: Remedy) -> Snapshot:
    kind = snapshot.gpu_types.name.index(str(remedy.name))
    types = snapshot.jobs.gpu_types[row] | np.uint64(1 << kind)
    return _job("gpu_types", types)(snapshot, row, remedy)


def _move(snapshot: Snapshot, row: int, remedy: Remedy) -> Snapshot:
    partition = _row(snapshot.partitions.id, int(remedy.id or 0))
    return _job("partition", partition)(snapshot, row, remedy)


def _widen(snapshot: Snapshot, row: int, remedy: Remedy) -> Snapshot:
    return _job("span", Span[str(remedy.name).upper()])(snapshot, row, remedy)


def _raise_quota(snapshot: Snapshot, row: int, remedy: Remedy) -> Snapshot:
    quota = snapshot.tenants.quota_gpus[snapshot.jobs.tenant[row]] + int(remedy.by or 0)
    return _tenant("quota_gpus", quota)(snapshot, row, remedy)


def _raise_quota_of_type(snapshot: Snapshot, row: int, remedy: Remedy) -> Snapshot:
    quotas = snapshot.tenants.quota_by_type[snapshot.jobs.tenant[row]].copy()
    quotas[snapshot.gpu_types.name.index(str(remedy.name))] += int(remedy.by or 0)
    return _tenant("quota_by_type", quotas)(snapshot, row, remedy)


def _raise_both(snapshot: Snapshot, row: int, remedy: Remedy) -> Snapshot:
    of_type = Remedy("raise_quota_of_type", by=remedy.to, name=remedy.name)
    return _raise_quota_of_type(_raise_quota(snapshot, row, remedy), row, of_type)


def _make_ready(snapshot: Snapshot, row: int, remedy: Remedy) -> Snapshot:
    node = _row(snapshot.nodes.id, int(remedy.id or 0))
    return replace(snapshot, nodes=_with(snapshot.nodes, "state", node, NodeState.READY))


def _more_power(snapshot: Snapshot, row: int, remedy: Remedy) -> Snapshot:
    watts = float(remedy.by or 0.0) + SLACK_W
    partitions = snapshot.partitions
    left_s = max(snapshot.energy_until_s - snapshot.now_s, 1.0)
    more_j = watts * left_s * snapshot.pue if np.isfinite(snapshot.energy_left_j) else 0.0
    return replace(
        snapshot,
        power_budget_w=snapshot.power_budget_w + watts,
        energy_left_j=max(snapshot.energy_left_j, 0.0) + more_j,
        partitions=replace(partitions, power_budget_w=partitions.power_budget_w + watts),
    )


WITHOUT: dict[WaitReason, Change] = {
    WaitReason.HELD: _job("blocked", Blocked.NO),
    WaitReason.DEPENDENCY: _job("blocked", Blocked.NO),
    WaitReason.QUOTA: _without_quotas,
    WaitReason.ENERGY_BUDGET: _tenant("energy_left_j", np.inf),
    WaitReason.TOPOLOGY: _job("span", Span.ANY),
    WaitReason.POWER: lambda snapshot, row, _: without_power(snapshot),
    WaitReason.TARIFF: lambda snapshot, row, _: flat(snapshot),
}
REMEDIED: dict[str, Change] = {
    "reduce_gpus": _asks_for("min_gpus"),
    "reduce_cpus_per_gpu": _asks_for("cpus_per_gpu"),
    "reduce_mem_mib_per_gpu": _asks_for("mem_mib_per_gpu"),
    "allow_gpu_type": _allow_type,
    "move_to_partition": _move,
    "allow_preemption": _job("preemptible", value=True),
    "widen_span": _widen,
    "raise_quota": _raise_quota,
    "raise_quota_of_type": _raise_quota_of_type,
    "raise_both_quotas": _raise_both,
    "raise_energy_budget": _tenant("energy_left_j", np.inf),
    "raise_power_budget": _more_power,
    "power_on_node": _make_ready,
    "make_ready_node": _make_ready,
    "finish_dependency": _job("blocked", Blocked.NO),
    "release_hold": _job("blocked", Blocked.NO),
}


def without_cause(snapshot: Snapshot, wait: Wait) -> Snapshot | None:
    """The same without what the job is said to wait for; None where nothing can be taken away."""
    change = WITHOUT.get(wait.reason)
    return change and change(snapshot, _row(snapshot.jobs.id, wait.job), Remedy(""))


def remedied(snapshot: Snapshot, job: int, remedy: Remedy) -> Snapshot:
    """The same with the change that is said to help."""
    return REMEDIED[remedy.action](snapshot, _row(snapshot.jobs.id, job), remedy)
