"""The waits of a round: the lowest reason on the ladder for every job left, evidence shared."""

from collections.abc import Container, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from policies.bench.ledger import Ledger
from policies.bench.reach import Atlas, shapes_of
from policies.contract.columns import F64, I32, I64, Bool, numbered
from policies.contract.plan import WaitTable
from policies.contract.snapshot import Blocked, JobState, Snapshot
from policies.explain.evidence import Case, Examiner
from policies.explain.quotas import Quotas, over_quota
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
    only_room: Bool | None = None
    """It would start if it had room; everybody, where nothing is said."""


def left_waiting(
    snapshot: Snapshot,
    queue: I64,
    started: Container[int],
    reserved: Sequence[int] = (),
    *,
    until_s: F64 | None = None,
    for_tariff: Bool | None = None,
    only_room: Bool | None = None,
) -> Left:
    """The rows of `queue`, in its order, that were not started, then all other queued ones.

    For the `reserved` work is being stopped; the columns are by job row.
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
        only_room=None if only_room is None else only_room[rows],
    )


def explain(
    ledger: Ledger, atlas: Atlas, left: Left, *, lent: bool = True
) -> tuple[WaitTable, tuple[Evidence, ...]]:
    """Without `lent` nobody borrows."""
    if not len(left.rows):
        return WaitTable.none(), ()
    snapshot = ledger.snapshot
    shapes, index = shapes_of(snapshot, left.rows)
    if not lent:
        shapes = [shape._replace(borrows=False) for shape in shapes]
    examiner = Examiner(ledger, atlas, lent=lent)
    passing = [atlas.structural_reason(s) or examiner.passing_reason(s) for s in shapes]
    shape_of = np.array(index, np.int64)
    by_shape = np.array(passing, np.uint8)[shape_of]
    # Who has a place that others are giving up lacks nothing else.
    by_shape[left.claimed] = WaitReason.OUTRANKED
    reason = np.minimum.reduce([by_shape, *_by_job(ledger, left)])
    tenant = snapshot.jobs.tenant[left.rows]
    by_tenant = (reason == WaitReason.QUOTA) | (reason == WaitReason.ENERGY_BUDGET)
    one_for_all = np.isin(reason, [int(same) for same in (*_SAME_FOR_ALL, WaitReason.TARIFF)])
    shapeless = one_for_all | (reason == WaitReason.ENERGY_BUDGET)
    only_room = np.ones(len(left.rows), np.bool_) if left.only_room is None else left.only_room
    first, evidence = numbered(
        reason,
        np.where(shapeless, -1, shape_of),
        np.where(by_tenant | ~shapeless & np.array(ledger.limits_types)[tenant], tenant, -1),
        only_room | shapeless | by_tenant,
    )
    # Whoever waits for nothing but a place may take what is added to a budget.
    watts = np.where(reason >= WaitReason.TOPOLOGY, _watts(ledger, left.rows), 0.0)
    others_w = (watts.sum() - watts).tolist()
    waits_there = (reason >= WaitReason.TOPOLOGY) & (left.only_room is not None)
    held_up = frozenset(np.unique(snapshot.jobs.partition[left.rows[waits_there]]).tolist())
    quotas = Quotas(ledger, left.rows, reason >= WaitReason.QUOTA)
    records = _Records(ledger, examiner, quotas)
    made = tuple(
        records.make(
            WaitReason(reason[at]),
            Case(
                shape=shapes[shape_of[at]],
                row=int(left.rows[at]),
                only_room=bool(only_room[at]),
                others_w=others_w[at],
                held_up=held_up,
            ),
        )
        for at in first.tolist()
    )
    made, evidence = _shared(made, evidence)
    table = WaitTable.of(
        job=snapshot.jobs.id[left.rows],
        reason=reason,
        evidence=evidence,
        ahead=left.ahead,
        until_s=left.until_s,
    )
    return table, made


def _watts(ledger: Ledger, rows: I64) -> F64:
    """What jobs would add at most, on all the GPUs that they may have; 0 without a budget."""
    if ledger.watts_per_gpu is None:
        return np.zeros(len(rows))
    host_w = max(ledger.host_w, default=0.0)
    each_w = (ledger.watts_per_gpu[rows] - np.array(ledger.idle_w)).max(axis=1) + host_w
    return np.asarray(each_w * ledger.snapshot.jobs.max_gpus[rows], np.float64)


def _shared(made: Sequence[Evidence], evidence: I64) -> tuple[tuple[Evidence, ...], I64]:
    """Records that say the same become one."""
    number: dict[bytes, int] = {}
    same = [number.setdefault(msgspec.json.encode(one), len(number)) for one in made]
    first = [same.index(at) for at in range(len(number))]
    return tuple(made[at] for at in first), np.array(same, np.int64)[evidence]


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
        where(~left.claimed & over_quota(ledger, rows), WaitReason.QUOTA),
        where(energyless, WaitReason.ENERGY_BUDGET),
        where(left.claimed, WaitReason.PREEMPTED_WORK),
        where(dear, WaitReason.TARIFF),
    ]


class _Records:
    """One record per cause: a shape's, a tenant's, or one for all."""

    def __init__(self, ledger: Ledger, examiner: Examiner, quotas: Quotas) -> None:
        self._ledger = ledger
        self._examiner = examiner
        self._quotas = quotas

    def make(self, reason: WaitReason, case: Case) -> Evidence:
        tenant = int(self._ledger.snapshot.jobs.tenant[case.row])
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
            return self._quotas.evidence(case.shape, case.row)
        return self._examiner.evidence(case, reason)


def _price_now(snapshot: Snapshot) -> float:
    at = int(np.searchsorted(snapshot.prices.from_s, snapshot.now_s, side="right")) - 1
    return float(snapshot.prices.price_per_kwh[max(at, 0)])


_SAME_FOR_ALL = {
    WaitReason.HELD: Evidence(remedies=(Remedy("release_hold"),)),
    WaitReason.DEPENDENCY: Evidence(remedies=(Remedy("finish_dependency"),)),
}
