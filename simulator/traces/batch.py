"""Readers of what batch systems write: Slurm's `sacct` and the Standard Workload Format."""

import re
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

from simulator.traces.collect import Report, TraceJob, collect
from simulator.traces.rows import SkipRow, TraceRow, csv_rows, opened
from simulator.workload import Trace

_GPUS = re.compile(r"gres/gpu(?::[^=,]+)?=(\d+)")
_TOTAL_GPUS = re.compile(r"gres/gpu=(\d+)")
_SWF = (
    "job", "submit", "wait", "run", "allocated", "cpu_used", "memory_used", "requested",
    "requested_time", "requested_memory", "status", "user", "group", "application", "queue",
    "partition", "preceding", "think",
)  # fmt: skip


def sacct(path: Path, timezone: str = "UTC") -> tuple[Trace, Report]:
    """`sacct -P -a -X -o JobID,User,Partition,Submit,ElapsedRaw,AllocTRES,State`."""
    zone = ZoneInfo(timezone)

    def job_of(row: TraceRow) -> TraceJob:
        if "." in row.text("JobID"):
            raise SkipRow("that are steps of a job")
        gpus = gpus_of_tres(row.text("AllocTRES") or row.text("ReqTRES"))
        if not gpus:
            raise SkipRow("without GPUs")
        if row.whole("ElapsedRaw") == 0:
            raise SkipRow("that ran for no time")
        return TraceJob(
            submitted_s=row.time_s("Submit", zone),
            duration_s=row.number("ElapsedRaw", above=0),
            gpus=gpus,
            tenant=row.text("Account") or row.text("User"),
            partition=row.text("Partition"),
        )

    needed = ("JobID", "User", "Partition", "Submit", "ElapsedRaw", "AllocTRES")
    return collect(path, csv_rows(path, needed, delimiter="|"), job_of)


def gpus_of_tres(tres: str) -> int:
    """The total where Slurm gives one, else the sum over GPU types."""
    total = _TOTAL_GPUS.search(tres)
    return int(total[1]) if total else sum(map(int, _GPUS.findall(tres)))


def swf(path: Path, processors_per_gpu: int = 1) -> tuple[Trace, Report]:
    """Eighteen numbers a line; a job's processors, rounded up, are taken as GPUs."""

    def job_of(row: TraceRow) -> TraceJob:
        if row.number("run") <= 0:
            raise SkipRow("that ran for no time")
        asked = row.number("requested")
        processors = int(asked if asked > 0 else row.number("allocated"))
        if processors <= 0:
            raise SkipRow("without processors")
        return TraceJob(
            submitted_s=row.number("submit", low=0),
            duration_s=row.number("run"),
            gpus=-(-processors // processors_per_gpu),
            tenant=row.text("user"),
        )

    return collect(path, _swf_rows(path), job_of)


def _swf_rows(path: Path) -> Iterator[TraceRow]:
    with opened(path) as file:
        for line, text in enumerate(file, 1):
            if text.strip() and not text.lstrip().startswith(";"):
                yield TraceRow(line, dict(zip(_SWF, text.split(), strict=False)))
