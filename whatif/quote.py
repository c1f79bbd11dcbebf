"""A submit that is only asked: whether, when, where and for how much the job would run."""

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from time import monotonic
from typing import Any

import msgspec
import numpy as np
from django.db import transaction

from clusters.models import Cluster, Node
from jobs.models import Job
from jobs.services import job_submit
from jobs.specs import JobSpec
from policies.contract.plan import Plan, Wait
from policies.contract.policy import Policy
from policies.contract.snapshot import Snapshot
from policies.explain.reasons import remedy_text, sentence
from policies.registry import build
from scheduling.snapshot.load import load_snapshot
from simulator.budget_response import Bounded, BudgetWindow
from simulator.forecast import QueueForecast, estimate
from simulator.live import EnergyTerms, Guess
from tenancy.callers import Caller
from tenancy.rls import ALL, scope
from whatif.energy_terms import energy_terms
from whatif.forecasting import HORIZON, PRICED_S, left_out, pace_of
from whatif.history import guess_of
from whatif.power_windows import PowerWindows

# An answer within a request: beyond this, what was simulated until then is the answer.
BUDGET_S = 3.0
J_PER_KWH = 3_600_000
STARTS_NOW = "It would start in the next round."


@dataclass(frozen=True, slots=True)
class Quote:
    """Of a job that was not submitted; times and figures are null where nothing is known."""

    starts_now: bool
    reason: str
    text: str
    nodes: list[str]
    currency: str
    remedies: list[dict[str, Any]] = field(default_factory=list)
    start_at: datetime | None = None
    start_low_at: datetime | None = None
    start_high_at: datetime | None = None
    finish_at: datetime | None = None
    finish_low_at: datetime | None = None
    finish_high_at: datetime | None = None
    kwh: Decimal | None = None
    cost: Decimal | None = None


@dataclass(frozen=True, slots=True)
class _Asked:
    """The cluster as it would be with the job in its queue."""

    job: int
    cluster: Cluster
    snapshot: Snapshot
    later: Snapshot
    """Without the power budgets that come and go, which `windows` has."""
    windows: list[BudgetWindow]
    terms: EnergyTerms
    guess: Guess
    left_out: set[int]


def quote(*, caller: Caller, spec: JobSpec, now: datetime) -> Quote:
    """By the rules of a submit, whose problems are raised as well; nothing is stored."""
    asked = _asked(caller, spec, now)
    cluster = asked.cluster
    policy = build(cluster.policy, cluster.policy_parameters)
    nodes, wait = _first_round(policy.plan(asked.snapshot), asked)
    return Quote(
        starts_now=wait is None,
        reason="" if wait is None else wait.reason.name.lower(),
        text=_text(wait),
        nodes=nodes,
        remedies=_remedies(wait),
        currency=cluster.currency,
        **_expected(asked, policy),
    )


def _asked(caller: Caller, spec: JobSpec, now: datetime) -> _Asked:
    """Submits the job, looks at the whole cluster with it, and takes the submit back."""
    with transaction.atomic():
        job = job_submit(caller=caller, spec=spec, now=now)
        with scope(ALL):
            asked = _look(job, now)
        transaction.set_rollback(True)
    return asked


def _look(job: Job, now: datetime) -> _Asked:
    cluster = Cluster.objects.select_related("tariff").get(pk=job.cluster_id)
    loaded = load_snapshot(cluster, now=now, seed=0)
    budgets = PowerWindows(cluster, loaded)
    return _Asked(
        job=job.pk,
        cluster=cluster,
        snapshot=loaded,
        later=budgets.left_out_of(loaded),
        windows=budgets.until(now + HORIZON, now=now),
        terms=energy_terms(cluster, now=now, seconds=PRICED_S),
        guess=guess_of(cluster.pk),
        left_out=left_out(loaded) - {job.pk},
    )


def _first_round(plan: Plan, asked: _Asked) -> tuple[list[str], Wait | None]:
    """The nodes that it would get at once, or why it would wait."""
    pieces = next((start.pieces for start in plan.starts if start.job == asked.job), ())
    held = Node.objects.filter(pk__in=[piece.node for piece in pieces])
    names = held.order_by("name").values_list("name", flat=True)
    return list(names), plan.wait_of(asked.job)


def _text(wait: Wait | None) -> str:
    return STARTS_NOW if wait is None else sentence(wait.reason, wait.evidence, ahead=wait.ahead)


def _remedies(wait: Wait | None) -> list[dict[str, Any]]:
    return [
        {**msgspec.to_builtins(remedy), "text": remedy_text(remedy)}
        for remedy in (() if wait is None else wait.evidence.remedies)
    ]


def _expected(asked: _Asked, policy: Policy) -> dict[str, Any]:
    ends_s = monotonic() + BUDGET_S
    found = estimate(
        asked.later,
        Bounded(policy, asked.windows),
        pace_of(asked.snapshot, asked.cluster),
        asked.guess,
        terms=asked.terms,
        left_out=asked.left_out,
        out_of_time=lambda: monotonic() > ends_s,
    )
    rows = np.flatnonzero(found.job == asked.job)
    return _of_row(found, int(rows[0])) if len(rows) else {}


def _of_row(found: QueueForecast, row: int) -> dict[str, Any]:
    names = ("start", "start_low", "start_high", "finish", "finish_low", "finish_high")
    times = {f"{name}_at": _at(getattr(found, f"{name}_s")[row]) for name in names}
    return {
        **times,
        "kwh": _decimal(found.full_energy_j[row] / J_PER_KWH),
        "cost": _decimal(found.full_cost[row]),
    }


def _at(time_s: float) -> datetime | None:
    return None if math.isnan(time_s) else datetime.fromtimestamp(float(time_s), UTC)


def _decimal(value: float) -> Decimal | None:
    return None if math.isnan(value) else Decimal(repr(float(value))).quantize(Decimal("1e-6"))
