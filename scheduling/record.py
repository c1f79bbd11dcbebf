"""Stores a round: what was seen and planned, what became of it, and how long each step took."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
import numpy as np
from django.db import connection, transaction

from clusters.models import Cluster
from policies.contract.encoding import stored_digest
from policies.contract.plan import Plan, Wait
from policies.contract.snapshot import JobState, Snapshot
from policies.explain.reasons import Evidence
from scheduling.apply.apply import Applied
from scheduling.models import Round

# (job, action, reason, evidence as JSON, carried out)
_Row = tuple[int, str, str, str, bool]

_INSERT = """
INSERT INTO scheduling_decision (round_id, tenant_id, job_id, action, reason, evidence, applied)
SELECT * FROM unnest(
    %s::int8[], %s::int8[], %s::int8[], %s::text[], %s::text[], %s::jsonb[], %s::bool[])
"""


@dataclass
class Planned:
    """A snapshot and the plan made from it; no plan means the policy failed, and `error` why."""

    snapshot: Snapshot
    load_ms: float
    plan: Plan | None = None
    plan_ms: float = 0
    check_ms: float = 0
    error: str = ""


def planned(cluster: Cluster, planned: Planned, *, now: datetime) -> Round:
    snapshot, plan = planned.snapshot, planned.plan
    seen = snapshot.to_bytes()
    said = None if plan is None else plan.to_bytes()
    queued = int((snapshot.jobs.state == JobState.QUEUED).sum())
    return Round.objects.create(
        cluster=cluster,
        policy=cluster.policy,
        parameters=cluster.policy_parameters,
        seed=snapshot.seed,
        status=Round.Status.FAILED if plan is None else Round.Status.DONE,
        error=planned.error,
        started_at=now,
        load_ms=planned.load_ms,
        plan_ms=planned.plan_ms,
        check_ms=planned.check_ms,
        queued=queued,
        running=len(snapshot.jobs) - queued,
        snapshot=seen,
        snapshot_digest=stored_digest(seen),
        plan=said,
        plan_digest="" if said is None else stored_digest(said),
        objective=None if plan is None else plan.objective,
        shown={} if plan is None else plan.shown,
        waiting=0 if plan is None else len(plan.waits),
        shadow_policy=cluster.shadow_policy,
        shadow_parameters=cluster.shadow_parameters,
    )


def applied(entry: Round, planned: Planned, applied: Applied) -> Round:
    """Add what was carried out, and one decision per job that was acted on or waits anew."""
    if planned.plan is None:
        raise ValueError("a round without a plan applies nothing")
    entry.started = len(applied.started)
    entry.preempted = len(applied.preempted)
    entry.moved, entry.resized = len(applied.moved), len(applied.resized)
    entry.switched = len(applied.switched)
    entry.stale = len(applied.stale)
    waits = changed_waits(planned.plan, last_plan(entry))
    decisions = list(_decisions(planned.plan, applied, waits))
    tenant_of = _tenants(planned.snapshot)
    with transaction.atomic():
        entry.save(
            update_fields=[
                "started", "preempted", "moved", "resized", "switched", "stale", "apply_ms",
                "shadow_ms", "shadow_difference",
            ]
        )  # fmt: skip
        if decisions:
            _insert_decisions([(entry.pk, tenant_of[row[0]], *row) for row in decisions])
    return entry


def _insert_decisions(rows: list[tuple[Any, ...]]) -> None:
    """One statement however many: a new policy may give ten thousand jobs another reason."""
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, [list(column) for column in zip(*rows, strict=True)])


def last_plan(entry: Round) -> Plan | None:
    """The plan of the cluster's round before this one, while retention keeps it."""
    before = (
        Round.objects.filter(cluster=entry.cluster_id, pk__lt=entry.pk, status=Round.Status.DONE)
        .order_by("-pk")
        .values_list("plan", flat=True)
        .first()
    )
    return None if before is None else Plan.from_bytes(bytes(before))


def changed_waits(plan: Plan, before: Plan | None) -> list[Wait]:
    """Waits whose reason is new: an unchanged wait of ten thousand jobs is not written again."""
    if before is None or len(before.waits) == 0:
        return list(plan.iter_waits())
    order = np.argsort(before.waits.job, kind="stable")
    jobs, reasons = before.waits.job[order], before.waits.reason[order]
    rows = np.minimum(np.searchsorted(jobs, plan.waits.job), len(jobs) - 1)
    same = (jobs[rows] == plan.waits.job) & (reasons[rows] == plan.waits.reason)
    return plan.waits_at(np.flatnonzero(~same))


def _decisions(plan: Plan, applied: Applied, waits: list[Wait]) -> Iterator[_Row]:
    stale = set(applied.stale)
    expected = {one.job: {"expected": one} for one in plan.expected}
    for start in plan.starts:
        there: dict[str, Any] = {"pieces": start.pieces}
        yield _acted(start.job, "start", stale, there | expected.get(start.job, {}))
    for preempt in plan.preempts:
        facts = {"for_job": preempt.for_job, "lost_gpu_s": preempt.lost_gpu_s}
        yield _acted(preempt.job, "preempt", stale, facts)
    for retune in plan.retunes:
        yield _acted(retune.job, "retune", stale, {"pieces": retune.pieces})
    for verb, changes in (("move", plan.moves), ("resize", plan.resizes)):
        for change in changes:
            there = {"pieces": change.pieces, "clock_mhz": change.clock_mhz}
            yield _acted(change.job, verb, stale, there | expected.get(change.job, {}))
    for clock in plan.clocks:
        yield _acted(clock.job, "set_clock", stale, {"clock_mhz": clock.clock_mhz})
    for wait in waits:
        yield wait.job, "wait", wait.reason.name.lower(), _json(wait.evidence), True


def _acted(job: int, action: str, stale: set[int], evidence: dict[str, Any]) -> _Row:
    return job, action, "stale" if job in stale else "planned", _json(evidence), job not in stale


def _json(evidence: Evidence | dict[str, Any]) -> str:
    return msgspec.json.encode(evidence).decode()


def _tenants(snapshot: Snapshot) -> dict[int, int]:
    tenants = snapshot.tenants.id[snapshot.jobs.tenant]
    return dict(zip(snapshot.jobs.id.tolist(), tenants.tolist(), strict=True))
