"""The waits of a round: the lowest reason on the ladder for every job left, evidence shared."""

from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np

from policies.bench.ledger import Ledger
from policies.bench.reach import Atlas, Shape, shapes_of
from policies.contract.columns import F64, I32, I64, Bool, numbered
from policies.contract.plan import WaitTable
from policies.contract.snapshot import UNLIMITED, Blocked, JobState, Snapshot
from policies.explain.evidence import Examiner
from policies.explain.reasons import Evidence, Remedy, WaitReason


@dataclass(frozen=True, slots=True)
class Left:
    """Job rows that did not start, with their place in the queue and what is known of them."""

    rows: I64
    ahead: I32
    claimed: Bool
    """Work is being stopped for the job."""
    until_s: F64
    for_tariff: Bool | None = None
    """The job is put off until energy is cheaper."""


def left_waiting(
    snapshot: Snapshot,
    queue: I64,
    started: Container[int],
    reserved: Sequence[int] = (),
    *,
    until_s: F64 | None = None,
    for_tariff: Bool | None = None,
) -> Left:
    """The rows of `queue`, in its order, that were not started, then all other queued ones.

    For the `reserved` work is being stopped; `until_s` and `for_tariff` are by job row.
    """
    at = np.array([i for i, row in enumerate(queue.tolist()) if row not in started], np.int64)
    others = snapshot.jobs.state == JobState.QUEUED
    others[queue] = False
    behind = np.flatnonzero(others)
    rows = np.concatenate([queue[at], behind])
    claimed = np.zeros(len(snapshot.jobs), np.bool_)
    claimed[list(reserved)] = True
    return Left(
        rows=rows,
        ahead=np.concatenate([at, np.zeros(len(behind), np.int64)]).astype(np.int32),
        claimed=claimed[rows],
        until_s=np.full(len(rows), np.nan) if until_s is None else until_s[rows],
        for_tariff=None if for_tariff is None else for_tariff[rows],
    )


def explain(ledger: Ledger, atlas: Atlas, left: Left) -> tuple[WaitTable, tuple[Evidence, ...]]:
    if not len(left.rows):
        return WaitTable.none(), ()
    snapshot = ledger.snapshot
    shapes, index = shapes_of(snapshot, left.rows)
    examiner = Examiner(ledger, atlas)
    passing = [atlas.structural_reason(s) or examiner.passing_reason(s) for s in shapes]
    shape_of = np.array(index, np.int64)
    by_shape = np.array(passing, np.uint8)[shape_of]
    reason = np.minimum.reduce([by_shape, *_by_job(ledger, left)])
    tenant = snapshot.jobs.tenant[left.rows]
    by_tenant = (reason == WaitReason.QUOTA) | (reason == WaitReason.ENERGY_BUDGET)
    one_for_all = np.isin(reason, [int(same) for same in (*_SAME_FOR_ALL, WaitReason.TARIFF)])
    shapeless = one_for_all | (reason == WaitReason.ENERGY_BUDGET)
    first, evidence = numbered(
        reason, np.where(shapeless, -1, shape_of), np.where(by_tenant, tenant, -1)
    )
    records = _Records(ledger, examiner, shapes)
    made = tuple(
        records.make(WaitReason(reason[at]), int(shape_of[at]), int(tenant[at]))
        for at in first.tolist()
    )
    table = WaitTable.of(
        job=snapshot.jobs.id[left.rows],
        reason=reason,
        evidence=evidence,
        ahead=left.ahead,
        until_s=left.until_s,
    )
    return table, made


def _by_job(ledger: Ledger, left: Left) -> list[np.ndarray[tuple[int], np.dtype[np.uint8]]]:
    jobs, tenants = ledger.snapshot.jobs, ledger.snapshot.tenants
    rows, tenant = left.rows, jobs.tenant[left.rows]

    def where(holds: Bool, reason: WaitReason) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        return np.where(holds, reason, WaitReason.OUTRANKED).astype(np.uint8)

    dear = np.zeros(len(rows), np.bool_) if left.for_tariff is None else left.for_tariff
    energyless = (tenants.energy_left_j <= 0)[tenant]
    return [
        where(jobs.blocked[rows] == Blocked.DEPENDENCY, WaitReason.DEPENDENCY),
        where(jobs.blocked[rows] == Blocked.HELD, WaitReason.HELD),
        where(~left.claimed & _over_quota(ledger, rows), WaitReason.QUOTA),
        where(energyless, WaitReason.ENERGY_BUDGET),
        where(left.claimed, WaitReason.PREEMPTED_WORK),
        where(dear, WaitReason.TARIFF),
    ]


def _over_quota(ledger: Ledger, rows: I64) -> Bool:
    jobs, tenants = ledger.snapshot.jobs, ledger.snapshot.tenants
    tenant, gpus = jobs.tenant[rows], jobs.min_gpus[rows]
    used = np.array(ledger.used, np.int64)[tenant]
    quota = tenants.quota_gpus[tenant]
    over = (quota != UNLIMITED) & (used + gpus > quota)
    used_by_type = np.array(ledger.used_by_type, np.int64).reshape(tenants.used_by_type.shape)
    quota_by_type = tenants.quota_by_type[tenant]
    type_over = (quota_by_type != UNLIMITED) & (
        used_by_type[tenant] + gpus[:, None] > quota_by_type
    )
    bits = np.arange(quota_by_type.shape[1], dtype=np.uint64)
    allowed = (jobs.gpu_types[rows][:, None] >> bits & np.uint64(1)).astype(bool)
    every_type_over = (type_over | ~allowed).all(axis=1) & (type_over & allowed).any(axis=1)
    return np.asarray(over | every_type_over, np.bool_)


class _Records:
    """One record per cause: a shape's, a tenant's, or one for all."""

    def __init__(self, ledger: Ledger, examiner: Examiner, shapes: list[Shape]) -> None:
        self._ledger = ledger
        self._examiner = examiner
        self._shapes = shapes

    def make(self, reason: WaitReason, shape: int, tenant: int) -> Evidence:
        if reason in _SAME_FOR_ALL:
            return _SAME_FOR_ALL[reason]
        if reason is WaitReason.TARIFF:
            return Evidence(facts={"price_per_kwh": _price_now(self._ledger.snapshot)})
        if reason is WaitReason.ENERGY_BUDGET:
            left_j = float(self._ledger.snapshot.tenants.energy_left_j[tenant])
            return Evidence(
                facts={"energy_left_j": left_j}, remedies=(Remedy("raise_energy_budget"),)
            )
        if reason is WaitReason.QUOTA:
            return self._quota(self._shapes[shape], tenant)
        return self._examiner.evidence(self._shapes[shape], reason)

    def _quota(self, shape: Shape, tenant: int) -> Evidence:
        ledger = self._ledger
        quota, used = ledger.quota[tenant], ledger.used[tenant]
        if quota != UNLIMITED and used + shape.gpus > quota:
            remedies = [Remedy("raise_quota", by=used + shape.gpus - quota)]
            if quota > used:
                remedies.append(Remedy("reduce_gpus", to=quota - used))
            facts: dict[str, float] = {"quota": quota, "used": used, "gpus_asked": shape.gpus}
            return Evidence(facts=facts, remedies=tuple(remedies))
        by = [
            (used + shape.gpus - quota, name)
            for t, (quota, used, name) in enumerate(
                zip(
                    ledger.quota_by_type[tenant],
                    ledger.used_by_type[tenant],
                    ledger.snapshot.gpu_types.name,
                    strict=True,
                )
            )
            if shape.gpu_types >> t & 1 and quota != UNLIMITED
        ]
        missing, name = min(by)
        return Evidence(
            facts={"gpus_asked": shape.gpus, "over_by": missing},
            remedies=(Remedy("raise_quota_of_type", by=missing, name=name),),
        )


def _price_now(snapshot: Snapshot) -> float:
    at = int(np.searchsorted(snapshot.prices.from_s, snapshot.now_s, side="right")) - 1
    return float(snapshot.prices.price_per_kwh[max(at, 0)])


_SAME_FOR_ALL = {
    WaitReason.HELD: Evidence(remedies=(Remedy("release_hold"),)),
    WaitReason.DEPENDENCY: Evidence(remedies=(Remedy("finish_dependency"),)),
}
