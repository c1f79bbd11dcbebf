"""All jobs of a trace as columns, sorted by submission."""

# ruff: noqa: RUF009  # column() is dataclasses.field() in other words

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from policies.contract.columns import F64, I32, I64, U8, U64, Bool, ColumnTable, column
from policies.contract.snapshot import ANY_GPU_TYPE, Span


@dataclass(frozen=True, slots=True, eq=False)
class Workload(ColumnTable):
    """`work` is in the units of the job's profile; without a profile, seconds on the asked GPUs.

    `tenant` and `partition` are rows of the names beside the workload, -1 for no partition.
    """

    submitted_s: F64 = column(np.float64)
    work: F64 = column(np.float64)
    gpus: I32 = column(np.int32)
    max_gpus: I32 = column(np.int32)
    tenant: I32 = column(np.int32, fill=0)
    partition: I32 = column(np.int32, fill=-1)
    profile: I32 = column(np.int32, fill=-1)
    priority: I32 = column(np.int32, fill=0)
    deadline_s: F64 = column(np.float64, fill=np.inf)
    tardiness_weight: F64 = column(np.float64, fill=0)
    gpu_types: U64 = column(np.uint64)
    cpus_per_gpu: I32 = column(np.int32, fill=0)
    mem_mib_per_gpu: I64 = column(np.int64, fill=0)
    span: U8 = column(np.uint8, fill=Span.ANY)
    preemptible: Bool = column(np.bool_, fill=True)

    @classmethod
    def sorted(cls, **columns: npt.ArrayLike) -> Self:
        """Jobs in order of submission, those of one moment in the order given."""
        length = len(np.atleast_1d(columns["submitted_s"]))
        columns.setdefault("max_gpus", columns["gpus"])
        columns.setdefault("gpu_types", np.full(length, ANY_GPU_TYPE, np.uint64))
        order = np.argsort(np.asarray(columns["submitted_s"], np.float64), kind="stable")
        return cls.of(**{name: np.asarray(values)[order] for name, values in columns.items()})

    def rows(self, chosen: I64 | Bool) -> Self:
        return type(self).of(**{f.name: getattr(self, f.name)[chosen] for f in fields(self)})

    def but(self, **columns: npt.ArrayLike) -> Self:
        """The same jobs with some columns replaced, sorted again."""
        given: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        return self.sorted(**{**given, **columns})


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """A workload and the names its rows refer to; bit t of a job's GPU types is `gpu_types[t]`."""

    jobs: Workload
    tenants: tuple[str, ...]
    partitions: tuple[str, ...] = ()
    gpu_types: tuple[str, ...] = ()
