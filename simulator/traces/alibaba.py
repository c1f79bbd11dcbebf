"""Readers of Alibaba's traces: openb (2023, pods and nodes) and PAI (2020)."""

from pathlib import Path

from simulator.machines import GpuKind, Machines, NodeKind, build
from simulator.traces.collect import Report, TraceJob, collect
from simulator.traces.rows import CellError, SkipRow, TraceError, TraceRow, csv_rows
from simulator.workload import Trace

_WHOLE_GPU_MILLI = 1000
_PAI_TASKS = (
    "job_name", "task_name", "inst_num", "status", "start_time", "end_time",
    "plan_cpu", "plan_mem", "plan_gpu", "gpu_type",
)  # fmt: skip


def openb_pods(path: Path, *, parts_as_whole: bool = False) -> tuple[Trace, Report]:
    """Pods that ask for whole GPUs, or for parts too; a pod ran from scheduling to deletion."""

    def job_of(row: TraceRow) -> TraceJob:
        gpus = row.whole("num_gpu")
        if not gpus:
            raise SkipRow("without GPUs")
        if row.whole("gpu_milli") < _WHOLE_GPU_MILLI and not parts_as_whole:
            raise SkipRow("that ask for part of a GPU")
        if not row.text("scheduled_time"):
            raise SkipRow("that were never scheduled")
        run_s = row.number("deletion_time") - row.number("scheduled_time")
        if run_s <= 0:
            raise SkipRow("that ran for no time")
        return TraceJob(
            submitted_s=row.number("creation_time", low=0),
            duration_s=run_s,
            gpus=gpus,
            tenant=row.text("qos"),
            cpus_per_gpu=row.whole("cpu_milli") // 1000 // gpus,
            mem_mib_per_gpu=row.whole("memory_mib") // gpus,
            gpu_types=tuple(name for name in row.text("gpu_spec").split("|") if name),
        )

    needed = (
        "cpu_milli", "memory_mib", "num_gpu", "gpu_milli", "gpu_spec", "qos",
        "creation_time", "deletion_time", "scheduled_time",
    )  # fmt: skip
    return collect(path, csv_rows(path, needed), job_of)


def openb_nodes(path: Path, gpus: tuple[GpuKind, ...] = ()) -> Machines:
    """The node list; a node that can not be read makes the whole list unreadable."""
    kinds = []
    for row in csv_rows(path, ("cpu_milli", "memory_mib", "gpu", "model")):
        try:
            kind = NodeKind(
                count=1,
                gpus=row.whole("gpu", low=1),
                gpu_type=row.text("model"),
                cpus=row.whole("cpu_milli") // 1000,
                mem_mib=row.whole("memory_mib"),
            )
        except CellError as error:
            raise TraceError(path, row.line, error.field, error.expected) from None
        kinds.append(kind)
    return build(kinds, gpus)


def pai(path: Path) -> tuple[Trace, Report]:
    """`pai_task_table.csv`, which has no header; a task is a job, submitted when it started."""

    def job_of(row: TraceRow) -> TraceJob:
        if not row.text("plan_gpu"):
            raise SkipRow("without GPUs")
        percent, instances = row.number("plan_gpu", above=0), row.whole("inst_num", low=1)
        if percent % 100:
            raise SkipRow("that ask for part of a GPU")
        if not row.text("start_time") or not row.text("end_time"):
            raise SkipRow("without a start or an end")
        start_s, end_s = row.number("start_time"), row.number("end_time")
        if end_s <= start_s:
            raise SkipRow("that ran for no time")
        per_instance = int(percent) // 100
        kind = row.text("gpu_type")
        return TraceJob(
            submitted_s=start_s,
            duration_s=end_s - start_s,
            gpus=per_instance * instances,
            cpus_per_gpu=int(row.number("plan_cpu", low=0) / 100 / per_instance)
            if row.text("plan_cpu")
            else 0,
            gpu_types=(kind,) if kind not in ("", "MISC") else (),
        )

    return collect(path, csv_rows(path, (), columns=_PAI_TASKS), job_of)
