"""The classic policy: serve the queue in order, place what fits, say why the rest waits."""

from dataclasses import dataclass

import numpy as np

from policies.classic.orderings import Ordering, ranked
from policies.columns import F64
from policies.ledger import Hold, Ledger
from policies.placement import PLACEMENTS, PlacementName
from policies.plan import Piece, Plan, Start
from policies.reach import shapes_of, structural_reason
from policies.snapshot import Blocked, JobState, Snapshot, Span
from policies.waiting import Left, explain


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What tells one classic policy from another."""

    ordering: Ordering
    placement: PlacementName = "pack"
    strict: bool = False
    preempt: bool = False
    min_run_s: float = 60.0
    max_preemptions: int = 256
    reservations: int = 0
    default_run_s: float = 86400.0


class Classic:
    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    @property
    def work_conserving(self) -> bool:
        rules = self.rules
        return not rules.strict and not rules.reservations and rules.placement != "buddy"

    def plan(self, snapshot: Snapshot) -> Plan:
        rules, jobs = self.rules, snapshot.jobs
        ledger = Ledger(
            snapshot, PLACEMENTS[rules.placement], keeps_blocks=rules.placement == "buddy"
        )
        key = rules.ordering(snapshot, remaining_s(snapshot))
        queued = jobs.state == JobState.QUEUED
        queue = ranked(snapshot, key, np.flatnonzero(queued & (jobs.blocked == Blocked.NO)))
        held_back = np.flatnonzero(queued & (jobs.blocked != Blocked.NO))
        holds = _serve(ledger, queue.tolist(), strict=rules.strict)
        waiting = np.array([at for at, hold in enumerate(holds) if hold is None], np.int64)
        left = Left(
            rows=np.concatenate([queue[waiting], held_back]),
            ahead=np.concatenate([waiting, np.zeros(len(held_back), np.int64)]).astype(np.int32),
            claimed=np.zeros(len(waiting) + len(held_back), np.bool_),
            until_s=np.full(len(waiting) + len(held_back), np.nan),
        )
        waits, evidence = explain(ledger, left)
        starts = tuple(
            start(snapshot, row, hold)
            for row, hold in zip(queue.tolist(), holds, strict=True)
            if hold is not None
        )
        return Plan(starts=starts, waits=waits, evidence=evidence)


def remaining_s(snapshot: Snapshot) -> F64:
    est_run_s = snapshot.jobs.est_run_s
    return np.where(np.isnan(est_run_s), np.inf, est_run_s)


def start(snapshot: Snapshot, row: int, hold: Hold) -> Start:
    node_id = snapshot.nodes.id
    pieces = tuple(
        Piece(int(node_id[node]), gpus, cpus, mem_mib) for node, gpus, cpus, mem_mib in hold.pieces
    )
    return Start(int(snapshot.jobs.id[row]), pieces)


def _serve(ledger: Ledger, queue: list[int], *, strict: bool) -> list[Hold | None]:
    snapshot = ledger.snapshot
    rows = np.array(queue, np.int64)
    shapes, shape_of = shapes_of(snapshot, rows)
    tenants = snapshot.jobs.tenant[rows].tolist()
    has_energy = (snapshot.tenants.energy_left_j > 0).tolist()
    closed = [structural_reason(snapshot, shape) is not None for shape in shapes]
    asks = [
        ledger.ask(
            partition=shape.partition,
            gpu_types=shape.gpu_types,
            gpus=shape.gpus,
            cpus_per_gpu=shape.cpus_per_gpu,
            mem_mib_per_gpu=shape.mem_mib_per_gpu,
            span=Span(shape.span),
            borrows=shape.borrows,
            like_job=queue[shape_of.index(at)],
        )
        for at, shape in enumerate(shapes)
    ]
    blocked: set[int] = set()
    holds: list[Hold | None] = [None] * len(queue)
    for at, index in enumerate(shape_of):
        if closed[index] or (strict and shapes[index].partition in blocked):
            continue
        ask, tenant = asks[index], tenants[at]
        types = ledger.types_within_quota(tenant, ask)
        if not types or not has_energy[tenant]:
            continue
        holds[at] = ledger.try_place(ask, tenant, types)
        if holds[at] is None:
            blocked.add(shapes[index].partition)
            closed[index] = types is ask.types
    return holds
