"""Why a job is where it is, from the newest round that considered it."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import msgspec

from jobs.lifecycle import TERMINAL
from jobs.models import Job, Profile
from policies.contract.plan import Plan, Wait
from policies.explain.reasons import remedy_text, sentence
from scheduling.apply import relocation
from scheduling.ended import JobEnd, job_end
from scheduling.fetching import evidence_of, fetches
from scheduling.fetching import sentence as brought
from scheduling.models import Round
from scheduling.unable_nodes import AS_TYPES, why_unable


@dataclass(frozen=True)
class StartForecast:
    """The start if the queue runs on as it is; the bounds hold four of five starts."""

    start_at: datetime
    low_at: datetime | None
    high_at: datetime | None
    made_at: datetime


@dataclass(frozen=True)
class Explanation:
    state: str
    reason: str
    text: str
    position: int | None = None
    expected_start_at: datetime | None = None
    round_id: int | None = None
    round_at: datetime | None = None
    evidence: dict[str, Any] = field(default_factory=dict)
    remedies: list[dict[str, Any]] = field(default_factory=list)
    forecast: StartForecast | None = None
    profile_basis: str = Profile.Basis.NEUTRAL
    profile_text: str = ""
    ended: JobEnd | None = None


_TEXTS = {
    Job.State.PLACED: "It has its GPUs; the node's agent will start it.",
    Job.State.RUNNING: "It is running.",
    Job.State.PREEMPTING: "It is being stopped so that another job can run, and will be queued.",
}


_BASES = {
    Profile.Basis.NEUTRAL: "Nothing was measured of its kind: a neutral profile is used,"
    " and its own estimate of its run time.",
    Profile.Basis.MEASURED: "Its speed and power are those of its profile's measured points.",
    Profile.Basis.FITTED: "Its speed and power are predicted by models fitted to its profile.",
}

# A stop that is not for another job's sake.
_ON_ITS_WAY = {
    relocation.MOVED: "It is being stopped to go on in another place, from its checkpoint.",
    relocation.RESIZED: "It is being stopped to go on with other GPUs, from its checkpoint.",
}


def explain(job: Job, *, now: datetime) -> Explanation:
    return replace(
        _explained(job, now), profile_basis=_basis(job), profile_text=_BASES[_basis(job)]
    )


def _explained(job: Job, now: datetime) -> Explanation:
    if job.state in TERMINAL:
        end = job_end(job)
        return Explanation(job.state, job.reason, end.text, ended=end)
    if job.state in {Job.State.PLACED, Job.State.RUNNING} and (found := fetches(job)):
        evidence = evidence_of(found)
        return Explanation(job.state, "fetching", brought(found), evidence=evidence)
    if job.state != Job.State.QUEUED:
        return Explanation(job.state, job.reason, _text(job))
    if job.retry_at is not None and job.retry_at > now:
        return Explanation(job.state, "retry_backoff", _retried(job), expected_start_at=None)
    return replace(_able(job, _of_latest_round(job)), forecast=_forecast(job))


def _retried(job: Job) -> str:
    again = f"{job.retry_at:%Y-%m-%d %H:%M:%S} UTC"
    return (
        f"Its last attempt failed ({job.reason}); it is tried again from {again} on, "
        f"for the {job.retries}. time of {job.max_retries}."
    )


def _able(job: Job, found: Explanation) -> Explanation:
    """Where a round says types, it may be what nodes can or whose they are."""
    unable = why_unable(job) if found.reason in AS_TYPES else None
    if unable is None:
        return found
    reason, text = unable
    return replace(found, reason=reason, text=text, remedies=[])


def _basis(job: Job) -> Profile.Basis:
    return Profile.Basis(job.profile.basis) if job.profile else Profile.Basis.NEUTRAL


def _text(job: Job) -> str:
    text = _TEXTS[Job.State(job.state)]
    return _ON_ITS_WAY.get(job.reason, text) if job.state == Job.State.PREEMPTING else text


def _forecast(job: Job) -> StartForecast | None:
    if job.forecast_start_at is None or job.forecast_at is None:
        return None
    return StartForecast(
        job.forecast_start_at, job.forecast_low_at, job.forecast_high_at, job.forecast_at
    )


def _of_latest_round(job: Job) -> Explanation:
    latest = (
        Round.objects.filter(cluster=job.cluster_id, started_at__gte=job.submitted_at)
        .order_by("-pk")
        .defer("snapshot")
        .first()
    )
    if latest is None:
        return Explanation(job.state, "not_considered", "The next round will consider it.")
    if latest.plan is None:
        text = f"The last round failed, so nothing starts: {latest.error or 'its plan is gone'}"
        return Explanation(
            job.state, "round_failed", text, None, None, latest.pk, latest.started_at
        )
    wait = Plan.from_bytes(bytes(latest.plan)).wait_of(job.pk)
    if wait is None:
        text = "The last round did not consider it; the next one will."
        return Explanation(
            job.state, "not_considered", text, None, None, latest.pk, latest.started_at
        )
    return _waiting(wait, latest)


def _waiting(wait: Wait, latest: Round) -> Explanation:
    evidence = msgspec.to_builtins(wait.evidence)
    evidence.pop("remedies", None)
    return Explanation(
        state=Job.State.QUEUED,
        reason=wait.reason.name.lower(),
        text=sentence(wait.reason, wait.evidence, ahead=wait.ahead),
        position=wait.ahead + 1,
        expected_start_at=(
            None if wait.until_s is None else datetime.fromtimestamp(wait.until_s, UTC)
        ),
        round_id=latest.pk,
        round_at=latest.started_at,
        evidence=evidence,
        remedies=[
            {**msgspec.to_builtins(remedy), "text": remedy_text(remedy)}
            for remedy in wait.evidence.remedies
        ],
    )
