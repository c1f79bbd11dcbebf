"""Jobs collected from rows, with a count of what was left out and why."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from policies.contract.snapshot import ANY_GPU_TYPE
from simulator.traces.rows import CellError, SkipRow, TraceRow
from simulator.workload import Trace, Workload

PROBLEMS_SHOWN = 20


class TraceJob(NamedTuple):
    """One job; `gpu_types` are names, none for any."""

    submitted_s: float
    duration_s: float
    gpus: int
    tenant: str = "all"
    partition: str = ""
    max_gpus: int = 0
    cpus_per_gpu: int = 0
    mem_mib_per_gpu: int = 0
    gpu_types: tuple[str, ...] = ()
    deadline_s: float = float("inf")
    tardiness_weight: float = 0.0
    priority: int = 0
    preemptible: bool = True


@dataclass(slots=True)
class Report:
    """Rows used and left out of one file."""

    path: Path
    used: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        left_out = sum(self.skipped.values())
        said = [f"{self.path.name}: {self.used} rows used, {left_out} left out"]
        said += [f"  {count} {why}" for why, count in self.skipped.most_common()]
        return said + [f"  {problem}" for problem in self.problems]


def collect(
    path: Path, rows: Iterable[TraceRow], job_of: Callable[[TraceRow], TraceJob]
) -> tuple[Trace, Report]:
    """A row that is no job for us, or has a bad cell, is left out and counted."""
    report = Report(path)
    jobs: list[TraceJob] = []
    for row in rows:
        try:
            jobs.append(job_of(row))
        except SkipRow as skip:
            report.skipped[str(skip)] += 1
        except CellError as error:
            report.skipped[f"with a bad {error.field}"] += 1
            if len(report.problems) < PROBLEMS_SHOWN:
                report.problems.append(f"{path}:{row.line}: {error}")
    report.used = len(jobs)
    return trace_of(jobs), report


def trace_of(jobs: list[TraceJob]) -> Trace:
    tenants = tuple(sorted({job.tenant for job in jobs}))
    partitions = tuple(sorted({job.partition for job in jobs} - {""}))
    gpu_types = tuple(sorted({name for job in jobs for name in job.gpu_types}))
    tenant_row = {name: row for row, name in enumerate(tenants)}
    partition_row = {"": -1} | {name: row for row, name in enumerate(partitions)}
    bit = {name: 1 << row for row, name in enumerate(gpu_types)}
    columns = dict(zip(TraceJob._fields, zip(*jobs, strict=True), strict=True)) if jobs else {}
    workload = Workload.sorted(
        submitted_s=columns.get("submitted_s", ()),
        work=columns.get("duration_s", ()),
        gpus=columns.get("gpus", ()),
        max_gpus=[max(job.gpus, job.max_gpus) for job in jobs],
        tenant=[tenant_row[job.tenant] for job in jobs],
        partition=[partition_row[job.partition] for job in jobs],
        cpus_per_gpu=columns.get("cpus_per_gpu", ()),
        mem_mib_per_gpu=columns.get("mem_mib_per_gpu", ()),
        gpu_types=np.array(
            [sum(bit[name] for name in job.gpu_types) or ANY_GPU_TYPE for job in jobs], np.uint64
        ),
        deadline_s=columns.get("deadline_s", ()),
        tardiness_weight=columns.get("tardiness_weight", ()),
        priority=columns.get("priority", ()),
        preemptible=columns.get("preemptible", ()),
    )
    return Trace(workload, tenants, partitions, gpu_types)
