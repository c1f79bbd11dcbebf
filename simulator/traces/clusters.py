"""Readers of the logs of research and company clusters: Philly, Helios and Acme."""

from pathlib import Path
from zoneinfo import ZoneInfo

from simulator.traces.collect import Report, TraceJob, collect
from simulator.traces.rows import SkipRow, TraceRow, csv_rows
from simulator.workload import Trace

UTC_ZONE = ZoneInfo("UTC")


def philly(path: Path) -> tuple[Trace, Report]:
    """Microsoft Philly, 2017, in the table of the adaptdl project; partitioned by cluster."""

    def job_of(row: TraceRow) -> TraceJob:
        cluster = row.text("cluster")
        return TraceJob(
            submitted_s=row.time_s("timestamp", UTC_ZONE),
            duration_s=row.number("duration", above=0),
            gpus=row.whole("num_gpus", low=1),
            tenant=cluster,
            partition=cluster,
        )

    return collect(path, csv_rows(path, ("timestamp", "duration", "num_gpus", "cluster")), job_of)


def helios(path: Path) -> tuple[Trace, Report]:
    """SenseTime Helios, 2020: `cluster_log.csv` of one cluster; virtual clusters partition it."""
    zone = ZoneInfo("Asia/Shanghai")

    def job_of(row: TraceRow) -> TraceJob:
        gpus = row.whole("gpu_num")
        if not gpus:
            raise SkipRow("without GPUs")
        return TraceJob(
            submitted_s=row.time_s("submit_time", zone),
            duration_s=row.number("duration", above=0),
            gpus=gpus,
            tenant=row.text("user"),
            partition=row.text("vc"),
            cpus_per_gpu=row.whole("cpu_num") // gpus,
        )

    needed = ("user", "vc", "gpu_num", "cpu_num", "submit_time", "duration")
    return collect(path, csv_rows(path, needed), job_of)


def acme(path: Path) -> tuple[Trace, Report]:
    """Shanghai AI Laboratory Acme, 2023: `trace_seren.csv` or `trace_kalos.csv`."""
    zone = ZoneInfo("Asia/Shanghai")

    def job_of(row: TraceRow) -> TraceJob:
        gpus = row.whole("gpu_num")
        if not gpus:
            raise SkipRow("without GPUs")
        if not row.text("start_time") or not row.number("duration"):
            raise SkipRow("that never ran")
        return TraceJob(
            submitted_s=row.time_s("submit_time", zone),
            duration_s=row.number("duration", above=0),
            gpus=gpus,
            tenant=row.text("user"),
            cpus_per_gpu=row.whole("cpu_num") // gpus if row.text("cpu_num") else 0,
        )

    needed = ("user", "gpu_num", "submit_time", "start_time", "duration")
    return collect(path, csv_rows(path, needed), job_of)
