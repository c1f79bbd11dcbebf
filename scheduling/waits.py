"""Why queued jobs wait, from the newest plans: counted over the queue, and for one page of it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf

import numpy as np

from jobs.models import Job
from policies.contract.plan import Plan
from policies.explain.reasons import WaitReason, remedy_text, sentence
from scheduling.models import Round
from tenancy.callers import Caller
from tenancy.roles import TENANT_ROLES
from tenancy.selectors import visible

NOT_CONSIDERED = "not considered yet"
PLANS_KEPT = 16
SOONEST_LOOKED_AT = 20

_known: dict[str, Plan] = {}


@dataclass(frozen=True, slots=True)
class WaitText:
    reason: str
    text: str
    remedies: list[str]
    position: int | None = None
    until_at: datetime | None = None


def newest_plans(cluster_ids: Iterable[int]) -> dict[int, Plan]:
    """A plan is read once, and kept by its digest until rounds have made others."""
    rows = Round.objects.filter(cluster__in=set(cluster_ids)).order_by("cluster", "-pk")
    newest = rows.distinct("cluster").values_list("cluster_id", "pk", "plan_digest")
    found: dict[int, Plan] = {}
    for cluster_id, round_id, digest in newest:
        plan = _known.get(digest) or _read(round_id)
        if plan is not None:
            found[cluster_id] = _known[digest] = plan
    while len(_known) > PLANS_KEPT:
        _known.pop(next(iter(_known)), None)
    return found


def _read(round_id: int) -> Plan | None:
    stored = Round.objects.filter(pk=round_id).values_list("plan", flat=True).first()
    return None if stored is None else Plan.from_bytes(bytes(stored))


def soonest(cluster_ids: Iterable[int]) -> list[int]:
    """Jobs that the newest plans want to start next: those with a time first, then by rank."""
    found: list[tuple[float, int, int]] = []
    for plan in newest_plans(cluster_ids).values():
        waits = plan.waits
        first = np.lexsort((waits.ahead, waits.until_s))[:SOONEST_LOOKED_AT]
        columns = (waits.until_s[first], waits.ahead[first], waits.job[first])
        found += zip(*(column.tolist() for column in columns), strict=True)
    found.sort(key=lambda each: (each[0] if each[0] == each[0] else inf, each[1]))
    return [job for _, _, job in found]


def waits_by_reason(caller: Caller, cluster_ids: Iterable[int]) -> list[tuple[str, int]]:
    """How many jobs wait for what, the commonest first; a tenant's own alone."""
    counts: Counter[str] = Counter()
    for plan in newest_plans(cluster_ids).values():
        reasons = plan.waits.reason
        if caller.role in TENANT_ROLES:
            own = visible(Job.objects.filter(state=Job.State.QUEUED), caller)
            known = np.fromiter(own.values_list("pk", flat=True).iterator(), np.int64)
            reasons = reasons[np.isin(plan.waits.job, known)]
        for code, count in zip(*np.unique(reasons, return_counts=True), strict=True):
            counts[words(WaitReason(int(code)).name)] += int(count)
    return counts.most_common()


def wait_texts(jobs: Sequence[Job]) -> dict[int, WaitText]:
    """For the jobs of one page; each cluster's plan is read once."""
    found: dict[int, WaitText] = {}
    for cluster_id, plan in newest_plans(job.cluster_id for job in jobs).items():
        own = [job.pk for job in jobs if job.cluster_id == cluster_id]
        for wait in plan.waits_at(np.flatnonzero(np.isin(plan.waits.job, own))):
            found[wait.job] = WaitText(
                reason=words(wait.reason.name),
                text=sentence(wait.reason, wait.evidence, ahead=wait.ahead),
                remedies=[remedy_text(remedy) for remedy in wait.evidence.remedies],
                position=wait.ahead + 1,
                until_at=None
                if wait.until_s is None
                else datetime.fromtimestamp(wait.until_s, UTC),
            )
    return found


def words(name: str) -> str:
    return name.lower().replace("_", " ").replace("gpu", "GPU")
