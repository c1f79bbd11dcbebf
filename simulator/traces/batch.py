"""Reader of the Standard Workload Format, which many batch systems are published in."""

from collections.abc import Iterator
from pathlib import Path

from simulator.traces.collect import Report, TraceJob, collect
from simulator.traces.rows import SkipRow, TraceRow, opened
from simulator.workload import Trace

_SWF = (
    "job", "submit", "wait", "run", "allocated", "cpu_used", "memory_used", "requested",
    "requested_time", "requested_memory", "status", "user", "group", "application", "queue",
    "partition", "preceding", "think",
)  # fmt: skip


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
