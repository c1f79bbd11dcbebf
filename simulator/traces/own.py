"""Our own format: one JSON object per job and line, with the names of the columns as keys."""

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec

from policies.contract.snapshot import ANY_GPU_TYPE
from simulator.traces.collect import Report, TraceJob, collect
from simulator.traces.rows import CellError, TraceRow, opened
from simulator.workload import Trace


class _Line(TraceRow):
    """A line of JSON, decoded when its job is made, so that a bad one is counted."""

    __slots__ = ("content",)

    def __init__(self, line: int, content: str) -> None:
        super().__init__(line, {})
        self.content = content


class OwnJob(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """`deadline_s` is a time like `submitted_s`; null or absent for none."""

    submitted_s: float
    duration_s: float
    gpus: int
    tenant: str = "all"
    partition: str = ""
    max_gpus: int = 0
    cpus_per_gpu: int = 0
    mem_mib_per_gpu: int = 0
    gpu_types: tuple[str, ...] = ()
    deadline_s: float | None = None
    tardiness_weight: float = 0.0
    priority: int = 0
    preemptible: bool = True


def own(path: Path) -> tuple[Trace, Report]:
    def job_of(row: TraceRow) -> TraceJob:
        content = row.content if isinstance(row, _Line) else ""
        try:
            job = msgspec.json.decode(content, type=OwnJob)
        except msgspec.DecodeError as error:
            raise CellError("line", content, f"a job as JSON ({error})") from None
        if job.duration_s <= 0:
            raise CellError("duration_s", str(job.duration_s), "a number above 0")
        if job.gpus < 1:
            raise CellError("gpus", str(job.gpus), "a whole number of at least 1")
        deadline_s = float("inf") if job.deadline_s is None else job.deadline_s
        return TraceJob(**{**msgspec.structs.asdict(job), "deadline_s": deadline_s})

    return collect(path, _lines(path), job_of)


def _lines(path: Path) -> Iterator[TraceRow]:
    with opened(path) as file:
        for line, text in enumerate(file, 1):
            if text.strip():
                yield _Line(line, text)


def write_own(trace: Trace, path: Path) -> None:
    """The inverse of `own`, for traces that were generated, cut or scaled."""
    jobs = trace.jobs
    with path.open("w") as file:
        for row in range(len(jobs)):
            partition = int(jobs.partition[row])
            mask = int(jobs.gpu_types[row])
            types = [name for bit, name in enumerate(trace.gpu_types) if mask >> bit & 1]
            deadline_s = float(jobs.deadline_s[row])
            fields = {
                "submitted_s": float(jobs.submitted_s[row]),
                "duration_s": float(jobs.work[row]),
                "gpus": int(jobs.gpus[row]),
                "max_gpus": int(jobs.max_gpus[row]),
                "tenant": trace.tenants[jobs.tenant[row]],
                "partition": trace.partitions[partition] if partition >= 0 else "",
                "cpus_per_gpu": int(jobs.cpus_per_gpu[row]),
                "mem_mib_per_gpu": int(jobs.mem_mib_per_gpu[row]),
                "gpu_types": [] if mask == ANY_GPU_TYPE else types,
                "deadline_s": None if deadline_s == float("inf") else deadline_s,
                "tardiness_weight": float(jobs.tardiness_weight[row]),
                "priority": int(jobs.priority[row]),
                "preemptible": bool(jobs.preemptible[row]),
            }
            file.write(json.dumps(fields) + "\n")
