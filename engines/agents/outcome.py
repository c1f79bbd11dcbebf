"""What becomes of an attempt and its job once all its parts are over."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agent.wire import End
from jobs.artifacts import artifacts_expect
from jobs.attempts import attempts_end
from jobs.lifecycle import MOVES, State, advance
from jobs.models import Attempt, Job, Part
from jobs.nudge import nudge
from jobs.retries import RetryOn, retry_take
from scheduling.apply import relocation

# The node's doing, not the job's: such an attempt says nothing about the job itself.
INFRASTRUCTURE = frozenset({End.LEASE_LOST, End.NODE_REBOOTED, End.SHIM_LOST})
REFUSED, REFUSALS = "refused", 3
HOLDING = (State.PLACED, State.RUNNING, State.PREEMPTING)


@dataclass(frozen=True, slots=True)
class JobMove:
    to: State
    reason: str
    detail: str = ""


def verdict(job: Job, attempt: Attempt, parts: Sequence[Part], *, whole: bool = True) -> JobMove:
    """The first part that went wrong speaks for the gang; what was asked for outranks it.

    A gang that was stopped before every node had fetched its part is not `whole`: it has not run.
    """
    if attempt.reason == "cancel_requested":
        return JobMove(State.CANCELLED, "cancelled")
    # Many programs save their state on SIGTERM and exit with 0: that is stopped, not done.
    if whole and all(part.succeeded for part in parts):
        return JobMove(State.SUCCEEDED, "exit_0")
    if job.state == State.PREEMPTING:
        return JobMove(State.QUEUED, (attempt.relocation or {}).get("reason", "preempted"))
    return _failure(job, attempt, deciding(parts))


def deciding(parts: Sequence[Part]) -> Part:
    """The first that ended by itself and not well; of a whole success the first of all."""
    own = [part for part in parts if part.end != End.STOPPED and not part.succeeded]
    return (own or list(parts))[0]


def _failure(job: Job, attempt: Attempt, part: Part) -> JobMove:
    if part.end in INFRASTRUCTURE:
        if job.restartable:
            return JobMove(State.QUEUED, part.end, part.detail)
        return JobMove(State.FAILED, part.end, f"not restartable; {part.detail}".rstrip("; "))
    if part.end == End.REFUSED:
        # Not its number: a job that was moved has had attempts that nobody refused.
        before = Attempt.objects.filter(job=job.pk, reason=REFUSED).count()
        retry = before + 1 < REFUSALS
        return JobMove(State.QUEUED if retry else State.FAILED, REFUSED, part.detail)
    return JobMove(State.FAILED, _own_end(part), part.detail)


def _own_end(part: Part) -> str:
    if part.end in (End.TIME_LIMIT, End.INPUT_FAILED):
        return part.end
    if part.out_of_memory:
        return "out_of_memory"
    return f"exit_{part.exit_code}" if part.signal is None else f"signal_{part.signal}"


def _kind(outcome: JobMove) -> RetryOn | None:
    """Of a failure that was the job's own; None: it is not tried again."""
    kinds = {"exit": RetryOn.EXIT, "signal": RetryOn.SIGNAL, "out": RetryOn.OUT_OF_MEMORY}
    return kinds.get(outcome.reason.partition("_")[0]) if outcome.to is State.FAILED else None


def _keep_end(attempt: Attempt, part: Part) -> None:
    Attempt.objects.filter(pk=attempt.pk).update(
        exit_code=part.exit_code,
        signal=part.signal,
        out_of_memory=part.out_of_memory,
        detail=part.detail,
    )


def attempt_finish(attempt: Attempt, job: Job, parts: Sequence[Part], *, now: datetime) -> None:
    """End the attempt, free its GPUs and move the job on; the job's row is locked."""
    outcome = verdict(job, attempt, parts, whole=_is_whole(attempt, parts))
    kind = _kind(outcome)
    if kind is not None and retry_take(job, kind, now=now):
        outcome = JobMove(State.QUEUED, outcome.reason, outcome.detail)
    _keep_end(attempt, deciding(parts))
    artifacts_expect(attempt, job, parts, now=now)
    relocation.lock_relocation(attempt, now=now)
    attempts_end([attempt.pk], state=Attempt.State.ENDED, reason=outcome.reason, now=now)
    if job.state == State.PLACED and outcome.to is State.SUCCEEDED:
        advance([job.pk], sources=[State.PLACED], to=State.RUNNING, reason="started", now=now)
    advance(
        [job.pk],
        sources=[state for state in HOLDING if outcome.to in MOVES[state]],
        to=outcome.to,
        reason=outcome.reason,
        now=now,
        detail={"attempt": attempt.number, "detail": outcome.detail},
    )
    if outcome.to is State.QUEUED:
        relocation.start_relocated(attempt, job, now=now)
    nudge(job.cluster_id)


def _is_whole(attempt: Attempt, parts: Sequence[Part]) -> bool:
    held = attempt.allocation_set.filter(released_at=None)
    return set(held.values_list("node_id", flat=True)) <= {part.node_id for part in parts}
