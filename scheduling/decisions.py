"""What a round said about each job: what it did, as recorded, and who waits, from its plan."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
import numpy as np

from jobs.models import Job
from policies.contract.plan import Plan, Wait
from policies.explain.reasons import sentence
from scheduling.models import Decision, Round
from tenancy.callers import Caller
from tenancy.roles import TENANT_ROLES
from tenancy.selectors import visible

WAIT = "wait"


@dataclass(frozen=True, slots=True)
class DecisionView:
    """`applied` is false when the world had changed before the decision could be carried out."""

    job_id: int
    action: str
    reason: str
    applied: bool
    text: str = ""
    ahead: int | None = None
    expected_start_at: datetime | None = None
    evidence: dict[str, Any] = field(default_factory=dict)


def decisions(caller: Caller, entry: Round, *, after: int, limit: int) -> list[DecisionView]:
    """The first `limit` entries beyond job `after`, by job; a tenant gets those of its own jobs.

    Once retention has emptied the plan, only those waits are left whose reason was new.
    """
    rows = visible(Decision.objects.filter(round=entry.pk, job_id__gt=after), caller)
    if entry.plan is None:
        waits: list[DecisionView] = []
    else:
        waits = list(_waits(caller, Plan.from_bytes(bytes(entry.plan)), after, limit))
        rows = rows.exclude(action=WAIT)
    acts = [_recorded(caller, row) for row in rows.order_by("job_id")[:limit]]
    return sorted([*acts, *waits], key=lambda found: found.job_id)[:limit]


def _waits(caller: Caller, plan: Plan, after: int, limit: int) -> Iterator[DecisionView]:
    jobs = plan.waits.job
    order = np.argsort(jobs, kind="stable")
    order = order[jobs[order] > after]
    if caller.role in TENANT_ROLES:
        own = visible(Job.objects.filter(pk__in=jobs[order].tolist()), caller)
        order = order[np.isin(jobs[order], list(own.values_list("pk", flat=True)))]
    return map(_waiting, plan.waits_at(order[:limit]))


def _waiting(wait: Wait) -> DecisionView:
    return DecisionView(
        job_id=wait.job,
        action=WAIT,
        reason=wait.reason.name.lower(),
        applied=True,
        text=sentence(wait.reason, wait.evidence, ahead=wait.ahead),
        ahead=wait.ahead,
        expected_start_at=(
            None if wait.until_s is None else datetime.fromtimestamp(wait.until_s, UTC)
        ),
        evidence=msgspec.to_builtins(wait.evidence),
    )


def _recorded(caller: Caller, row: Decision) -> DecisionView:
    evidence = dict(row.evidence)
    if caller.role in TENANT_ROLES:
        # For whom it had to make room is that tenant's business.
        evidence.pop("for_job", None)
    return DecisionView(row.job_id, row.action, row.reason, row.applied, evidence=evidence)
