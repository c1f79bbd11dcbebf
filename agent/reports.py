"""What the node says about its attempts and GPUs, put together from what is known."""

import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.controls import Setting
from agent.run import Run
from agent.sampler import Measured
from agent.wire import (
    AttemptEnergy,
    AttemptReport,
    DesiredAttempt,
    End,
    GpuStatus,
    State,
)

LAST_WORDS_BYTES = 2048


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended; `started_s` is None if its processes never were."""

    end: End
    ended_s: float
    started_s: float | None = None
    exit_code: int | None = None
    signal: int | None = None
    detail: str = ""
    dropped: int = 0


def outcome(run: Run, end: End, now_s: float) -> Outcome:
    record = run.exit_record
    if record is None:
        return Outcome(end, now_s, detail=run.stop_reason or run.complaint())
    return Outcome(
        end=end,
        ended_s=record["ended_s"],
        started_s=record["started_s"],
        exit_code=record["exit_code"],
        signal=record["signal"],
        detail=run.stop_reason if end is not End.EXITED else _why(record, run.directory),
        dropped=record["dropped"],
    )


def running_report(run: Run, now_s: float, latest: Mapping[str, Measured]) -> AttemptReport:
    energy = {uuid: m.energy_mj for uuid, m in latest.items() if m.energy_mj is not None}
    return AttemptReport(
        attempt_id=run.attempt.attempt_id,
        fence=run.attempt.fence,
        state=run.state,
        ran_s=max(0.0, now_s - run.held_s),
        detail=run.stop_reason[:2000],
        progress_step=run.progress.step,
        checkpoint_step=run.progress.checkpoint_step,
        checkpoint_age_s=_age_s(run.progress.checkpoint_s, now_s),
        energy=_energy(run, energy, latest),
        speed=run.speedometer.speed(),
    )


def ended_report(
    run: Run, outcome: Outcome, end_mj: Mapping[str, int], latest: Mapping[str, Measured]
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
        checkpoint_age_s=_age_s(run.progress.checkpoint_s, outcome.ended_s),
        log_bytes_dropped=outcome.dropped,
        energy=_energy(run, end_mj, latest),
        speed=run.speedometer.speed(),
    )


def refused_report(attempt: DesiredAttempt, why: str) -> AttemptReport:
    return AttemptReport(
        attempt_id=attempt.attempt_id,
        fence=attempt.fence,
        state=State.ENDED,
        end=End.REFUSED,
        detail=why[:2000],
    )


def waiting_report(attempt: DesiredAttempt, why: str) -> AttemptReport:
    return AttemptReport(
        attempt_id=attempt.attempt_id, fence=attempt.fence, state=State.STARTING, detail=why[:2000]
    )


def gpu_status(
    uuid: str,
    measured: Measured,
    setting: Setting,
    *,
    refusal: str,
    attempt_id: int | None,
    foreign_pids: frozenset[int],
) -> GpuStatus:
    return GpuStatus(
        uuid=uuid,
        healthy=not measured.fault,
        energy_mj=measured.energy_mj,
        energy_method=measured.method,
        health_reason=measured.fault,
        attempt_id=attempt_id,
        clock_mhz=setting.clock_mhz,
        power_cap_w=setting.power_cap_w,
        control_refusal=refusal,
        foreign_pids=tuple(sorted(foreign_pids))[:64],
    )


def _energy(
    run: Run, now_mj: Mapping[str, int], latest: Mapping[str, Measured]
) -> tuple[AttemptEnergy, ...]:
    return tuple(
        AttemptEnergy(uuid, start_mj, max(start_mj, now_mj[uuid]), latest[uuid].method)
        for uuid, start_mj in run.energy_start_mj.items()
        if uuid in now_mj
    )


def _age_s(then_s: float | None, now_s: float) -> float | None:
    return None if then_s is None else max(0.0, now_s - then_s)


def _why(record: Mapping[str, Any], directory: Path) -> str:
    """One line a person understands: what happened, and what the job said last."""
    if record["signal"] is not None:
        happened = f"killed by {_signal_name(record['signal'])}"
    else:
        happened = f"exit code {record['exit_code']}"
    said = _last_words(directory / "stderr.log") if record["exit_code"] != 0 else ""
    return ": ".join(part for part in (happened, record["detail"], said) if part)


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
