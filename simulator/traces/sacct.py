"""Slurm's accounting, as `sacct --parsable2` prints it: jobs, and when each really started."""

import math
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np

from policies.contract.columns import F64, I64
from policies.contract.snapshot import ANY_GPU_TYPE
from simulator.traces.collect import Report, TraceJob, collect
from simulator.traces.rows import CellError, SkipRow, TraceError, TraceRow, opened
from simulator.workload import Trace

_ONE_TYPE = re.compile(r"gres/gpu:([^=,]+)=(\d+)")
_TOTAL_GPUS = re.compile(r"gres/gpu=(\d+)")
_NODES = re.compile(r"(?:^|,)node=(\d+)")

ENDED = frozenset(
    [
        "BOOT_FAIL",
        "CANCELLED",
        "COMPLETED",
        "DEADLINE",
        "FAILED",
        "NODE_FAIL",
        "OUT_OF_MEMORY",
        "PREEMPTED",
        "TIMEOUT",
    ]
)
RUNNING = frozenset(
    ["COMPLETING", "RESIZING", "RUNNING", "SIGNALING", "STAGE_OUT", "STOPPED", "SUSPENDED"]
)
NOT_STARTED = frozenset(
    [
        "CONFIGURING",
        "PENDING",
        "REQUEUED",
        "REQUEUE_FED",
        "REQUEUE_HOLD",
        "RESV_DEL_HOLD",
        "REVOKED",
    ]
)
UNTOLD = frozenset(["", "None", "Unknown"])
# A clock that was wrong for one job would stretch the period by decades.
EARLIEST_S, LATEST_S = 946_684_800.0, 4_102_444_800.0
LONGEST_S = 10 * 366 * 86_400.0
MOST_GPUS = 1_000_000
# Each is a bit of a job's mask.
MOST_TYPES = 60


class AccountedJob(NamedTuple):
    """What accounting knows of a job beyond a trace; 0 nodes and nan seconds are not told."""

    id: str
    started_s: float = math.nan
    limit_s: float = math.nan
    nodes: int = 0
    running: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Accounting:
    """`jobs` stand in the order of the trace's workload."""

    trace: Trace
    report: Report
    jobs: tuple[AccountedJob, ...]

    def started_s(self) -> F64:
        return np.array([job.started_s for job in self.jobs], np.float64)

    def limit_s(self) -> F64:
        return np.array([job.limit_s for job in self.jobs], np.float64)

    def nodes(self) -> I64:
        return np.array([job.nodes for job in self.jobs], np.int64)


def sacct(path: Path, timezone: str = "UTC") -> tuple[Trace, Report]:
    """`sacct -P -a -X -o JobID,User,Partition,Submit,ElapsedRaw,AllocTRES,State`, on any GPUs."""
    read = accounting(path, timezone, needed=("JobID", "Submit", "ElapsedRaw"))
    trace, anywhere = read.trace, np.full(len(read.jobs), ANY_GPU_TYPE, np.uint64)
    return replace(trace, jobs=trace.jobs.but(gpu_types=anywhere), gpu_types=()), read.report


def accounting(
    path: Path,
    timezone: str = "UTC",
    needed: tuple[str, ...] = ("JobID", "Submit", "Start", "State"),
) -> Accounting:
    """Times without an offset are read in `timezone`: sacct prints those of the site's clocks."""
    zone = ZoneInfo(timezone)
    found: list[tuple[float, AccountedJob]] = []
    types: set[str] = set()

    def job_of(row: TraceRow) -> TraceJob:
        traced, accounted = _job(row, zone)
        if len(types | set(traced.gpu_types)) > MOST_TYPES:
            raise CellError("AllocTRES", row.text("AllocTRES"), f"one of {MOST_TYPES} GPU types")
        types.update(traced.gpu_types)
        found.append((traced.submitted_s, accounted))
        return traced

    trace, report = collect(path, _rows(path, needed), job_of)
    order = np.argsort([submitted_s for submitted_s, _ in found], kind="stable")
    return Accounting(trace, report, tuple(found[at][1] for at in order.tolist()))


def _rows(path: Path, needed: tuple[str, ...]) -> Iterator[TraceRow]:
    """Split at bars and nothing else: sacct quotes nothing, and names may have quotes in them."""
    try:
        with opened(path, errors="replace") as file:
            names = [name.strip() for name in next(file, "").rstrip("\r\n").split("|")]
            _check_header(path, names, needed)
            for line, text in enumerate(file, 2):
                cells = text.rstrip("\r\n").split("|")
                if text.strip():
                    fits = len(cells) == len(names)
                    yield TraceRow(line, dict(zip(names, cells, strict=True)) if fits else {})
    except (OSError, EOFError, zlib.error) as error:
        raise TraceError(path, 0, "file", f"a file that can be read ({error})") from None


def _check_header(path: Path, names: list[str], needed: tuple[str, ...]) -> None:
    for either in (*((name,) for name in needed), *_EITHER):
        if not set(either) & set(names):
            raise TraceError(path, 1, " or ".join(either), f"a column of that name beside {names}")


_EITHER = (("AllocTRES", "ReqTRES"), ("ElapsedRaw", "End"), ("Account", "User"))


def _job(row: TraceRow, zone: ZoneInfo) -> tuple[TraceJob, AccountedJob]:
    job_id = row.text("JobID")
    if not job_id:
        raise CellError("line", "", "as many fields as the header has, with a JobID")
    if "." in job_id:
        raise SkipRow("that are steps of a job")
    running = _running(row)
    tres = row.text("AllocTRES") or row.text("ReqTRES")
    gpus, kind = _gpus(tres)
    submitted_s, started_s = _times_s(row, zone)
    duration_s = _duration_s(row, started_s, zone)
    traced = TraceJob(
        submitted_s=submitted_s,
        duration_s=duration_s,
        gpus=gpus,
        tenant=row.text("Account") or row.text("User") or "nobody",
        partition=row.text("Partition"),
        gpu_types=(kind,) if kind else (),
    )
    nodes = _nodes(row, tres)
    return traced, AccountedJob(job_id, started_s, _limit_s(row), nodes, running)


def _running(row: TraceRow) -> bool:
    """`CANCELLED by 1000` is CANCELLED; no state at all is one that has ended."""
    words = row.text("State").split()
    state = words[0].rstrip("+") if words else "COMPLETED"
    if state in NOT_STARTED:
        raise SkipRow("that never started")
    if state not in ENDED | RUNNING:
        raise CellError("State", state, "a state of a Slurm job")
    return state in RUNNING


def _gpus(tres: str) -> tuple[int, str]:
    """How many, and of which type where Slurm tells."""
    gpus = gpus_of_tres(tres)
    if not gpus:
        raise SkipRow("without GPUs")
    if gpus > MOST_GPUS:
        raise CellError("AllocTRES", tres, f"at most {MOST_GPUS} GPUs")
    kinds = {kind for kind, count in _ONE_TYPE.findall(tres) if int(count)}
    if len(kinds) > 1:
        raise SkipRow("with GPUs of several types")
    return gpus, next(iter(kinds), "")


def gpus_of_tres(tres: str) -> int:
    """The total where Slurm gives one, else the sum over GPU types."""
    total = _TOTAL_GPUS.search(tres)
    return int(total[1]) if total else sum(int(count) for _, count in _ONE_TYPE.findall(tres))


def _times_s(row: TraceRow, zone: ZoneInfo) -> tuple[float, float]:
    """When a job could start, and when it did: one that waits for another was not yet eligible."""
    submitted_s = _time_s(row, "Submit", zone)
    if row.text("ElapsedRaw") == "0":
        raise SkipRow("that ran for no time")
    if not row.has("Start"):
        return submitted_s, math.nan
    if row.text("Start") in UNTOLD:
        raise SkipRow("that never started")
    started_s = _time_s(row, "Start", zone)
    if started_s < submitted_s:
        raise CellError("Start", row.text("Start"), f"no time before {row.text('Submit')}")
    eligible_s = submitted_s
    if row.text("Eligible") not in UNTOLD:
        eligible_s = _time_s(row, "Eligible", zone)
    return min(max(submitted_s, eligible_s), started_s), started_s


def _time_s(row: TraceRow, field: str, zone: ZoneInfo) -> float:
    at_s = row.time_s(field, zone)
    if not EARLIEST_S <= at_s < LATEST_S:
        raise CellError(field, row.text(field), "a time of this century")
    return at_s


def _duration_s(row: TraceRow, started_s: float, zone: ZoneInfo) -> float:
    if row.has("ElapsedRaw"):
        duration_s = row.number("ElapsedRaw", above=0)
    else:
        duration_s = _time_s(row, "End", zone) - started_s
    if duration_s == 0:
        raise SkipRow("that ran for no time")
    if not 0 < duration_s <= LONGEST_S:
        raise CellError("End", row.text("End"), "an end after the start, within ten years")
    return duration_s


def _limit_s(row: TraceRow) -> float:
    """`TimelimitRaw` is in minutes; `UNLIMITED` and `Partition_Limit` tell nothing."""
    limit = row.text("TimelimitRaw")
    return int(limit) * 60.0 if limit.isdecimal() and 0 < len(limit) < 9 else math.nan


def _nodes(row: TraceRow, tres: str) -> int:
    told = _NODES.search(tres)
    text = row.text("NNodes") or (told[1] if told else "")
    return int(text) if text.isdecimal() and len(text) < 7 else 0
