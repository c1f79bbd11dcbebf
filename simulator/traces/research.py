"""Readers of workloads published with schedulers: Muri and ElasticFlow."""

from pathlib import Path

from simulator.traces.collect import Report, TraceJob, collect
from simulator.traces.rows import TraceRow, csv_rows
from simulator.workload import Trace


def muri(path: Path) -> tuple[Trace, Report]:
    """Times are in milliseconds."""

    def job_of(row: TraceRow) -> TraceJob:
        return TraceJob(
            submitted_s=row.number("submit_time", low=0) / 1000,
            duration_s=row.number("duration", above=0) / 1000,
            gpus=row.whole("num_gpu", low=1),
            priority=row.whole("priority"),
        )

    needed = ("num_gpu", "submit_time", "duration", "priority")
    return collect(path, csv_rows(path, needed), job_of)


def elasticflow(path: Path) -> tuple[Trace, Report]:
    """One virtual cluster of Philly, with deadlines in seconds since the start of the trace."""

    def job_of(row: TraceRow) -> TraceJob:
        return TraceJob(
            submitted_s=row.number("submit_time", low=0),
            duration_s=row.number("duration", above=0),
            gpus=row.whole("num_gpu", low=1),
            deadline_s=row.number("ddl", low=0),
        )

    return collect(path, csv_rows(path, ("submit_time", "duration", "num_gpu", "ddl")), job_of)
