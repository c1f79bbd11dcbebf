"""How an attempt ended, and the last report about it."""

import signal
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agent.measure.sampler import LatestReading
from agent.run import sandbox
from agent.run.attempt_run import AttemptRun
from agent.wire import AttemptRef, AttemptReport, End, State

LAST_WORDS_BYTES = 2048


@dataclass(frozen=True, slots=True)
class AttemptOutcome:
    """`started_s` is None if the attempt's processes never were."""

    end: End
    ended_s: float
    started_s: float | None = None
    exit_code: int | None = None
    signal: int | None = None
    detail: str = ""
    dropped: int = 0
    failed_rank: int | None = None
    out_of_memory: bool = False


def outcome_of(run: AttemptRun, end: End, now_s: float) -> AttemptOutcome:
    record = run.exit_record
    if record is None:
        return AttemptOutcome(end, now_s, detail=run.stop_reason or run.complaint())
    return AttemptOutcome(
        end=end,
        ended_s=record["ended_s"],
        started_s=record["started_s"],
        exit_code=record["exit_code"],
        signal=record["signal"],
        detail=run.stop_reason if end is not End.EXITED else _why(record, run),
        dropped=record["dropped"],
        failed_rank=record.get("failed_rank"),
    )


def with_memory(outcome: AttemptOutcome, memory_mib: int) -> AttemptOutcome:
    """The kernel ended a process of it for its limit."""
    happened = f"out of memory: more than its {memory_mib} MiB"
    return replace(outcome, out_of_memory=True, detail=f"{happened}; {outcome.detail}")


def ended_report(
    run: AttemptRun,
    outcome: AttemptOutcome,
    end_mj: Mapping[str, int],
    latest: Mapping[str, LatestReading],
) -> AttemptReport:
    started_s = run.held_s if outcome.started_s is None else outcome.started_s
    return AttemptReport(
        attempt_id=run.attempt.attempt_id,
        fence=run.attempt.fence,
        state=State.ENDED,
        ran_s=max(0.0, outcome.ended_s - started_s),
        end=outcome.end,
        exit_code=outcome.exit_code,
        signal=outcome.signal,
        detail=outcome.detail[:2000],
        progress_step=run.progress.step,
        checkpoint_step=run.progress.checkpoint_step,
        checkpoint_age_s=run.progress.checkpoint_age_s(outcome.ended_s),
        log_bytes_dropped=outcome.dropped,
        energy=run.energy(end_mj, latest),
        speed=run.speedometer.speed(),
        out_of_memory=outcome.out_of_memory,
        failed_rank=outcome.failed_rank,
    )


def refused_report(ref: AttemptRef, why: str) -> AttemptReport:
    return AttemptReport(
        attempt_id=ref.attempt_id,
        fence=ref.fence,
        state=State.ENDED,
        end=End.REFUSED,
        detail=why[:2000],
    )


def _why(record: Mapping[str, Any], run: AttemptRun) -> str:
    """One line a person understands: what happened, and what the job said last."""
    if record["signal"] is not None:
        happened = f"killed by {_signal_name(record['signal'])}"
    else:
        happened = f"exit code {record['exit_code']}"
    said = ""
    if record["exit_code"] != 0:
        said = _last_words(run.directory / record.get("stderr", "stderr.log"))
    if record.get("wrapped"):
        said = sandbox.explained(said, run.attempt.argv) or said
    parts = (happened, record["detail"], said)
    return ": ".join(part for part in parts if part)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_words(path: Path) -> str:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - LAST_WORDS_BYTES))
            lines = file.read().decode(errors="replace").replace("\0", "").split("\n")
    except OSError:
        return ""
    return next((line.strip()[:500] for line in reversed(lines) if line.strip()), "")
