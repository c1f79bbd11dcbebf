"""What becomes of an attempt and its job once all its parts are over."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agent.wire import End
from jobs.attempts import attempts_end
from jobs.lifecycle import MOVES, State, advance
from jobs.models import Attempt, Job, Part
from jobs.nudge import nudge
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


def verdict(job: Job, attempt: Attempt, parts: Sequence[Part]) -> JobMove:
    """The first part that went wrong speaks for the gang; what was asked for outranks it."""
    if attempt.reason == "cancel_requested":
        return JobMove(State.CANCELLED, "cancelled")
    # Many programs save their state on SIGTERM and exit with 0: that is stopped, not done.
    if all(part.end == End.EXITED and part.exit_code == 0 for part in parts):
        return JobMove(State.SUCCEEDED, "exit_0")
    if job.state == State.PREEMPTING:
        return JobMove(State.QUEUED, (attempt.relocation or {}).get("reason", "preempted"))
    worst = next((part for part in parts if part.end != End.STOPPED), parts[0])
    return _failure(job, attempt, worst)


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
    if part.signal is not None:
        return JobMove(State.FAILED, f"signal_{part.signal}", part.detail)
    return JobMove(State.FAILED, f"exit_{part.exit_code}", part.detail)


def attempt_finish(attempt: Attempt, job: Job, parts: Sequence[Part], *, now: datetime) -> None:
    """End the attempt, free its GPUs and move the job on; the job's row is locked."""
    outcome = verdict(job, attempt, parts)
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
