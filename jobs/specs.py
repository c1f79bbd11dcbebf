"""What may be submitted: the one place that says which values a job, array or profile can have.

The single submit, the bulk submit and the OpenAPI document all read these structs.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from rest.names import SLUG

BULK_MAX = 10_000
ARRAY_MAX = 10_000
POINTS_MAX = 1000
INLINE_POINTS_MAX = 100
# The regular expressions' `$` also matches before a final newline, in Python but not in Postgres.
END = r"(?!\n)"

TenantName = Annotated[str, Meta(pattern=SLUG + END)]
ClusterName = Annotated[str, Meta(pattern=SLUG + END)]
PartitionName = Annotated[str, Meta(pattern=SLUG + END)]
ProfileName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$" + END)]
GpuTypeName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$" + END)]
JobName = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
ArrayName = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f]+$")]
Image = Annotated[str, Meta(min_length=1, max_length=500, pattern=r"^[!-~]+$" + END)]
Gpus = Annotated[int, Meta(ge=1, le=4096)]
Id = Annotated[int, Meta(ge=1, le=10**18 - 1)]
Priority = Annotated[int, Meta(ge=0, le=100, description="100 goes first.")]
Seconds = Annotated[int, Meta(ge=1, le=10 * 365 * 86_400)]
Work = Annotated[float, Meta(gt=0, le=1e15, description="In steps of the job's own kind.")]
Price = Annotated[
    str,
    Meta(
        pattern=r"^(0|[1-9][0-9]{0,7})(\.[0-9]{1,6})?$" + END,
        description="Money per hour past the deadline, in the cluster's currency.",
    ),
]
ClockMhz = Annotated[int, Meta(ge=1, le=10_000)]
PointCpus = Annotated[float, Meta(gt=0, le=4096)]
PointMemory = Annotated[float, Meta(ge=0, le=2**26)]
Dataset = Annotated[
    float,
    Meta(gt=0, le=1e12, description="What one epoch reads, per GPU: memory sensitivity follows."),
]
StepData = Annotated[float, Meta(gt=0, le=1e9, description="What one step reads, per GPU.")]
Storage = Annotated[
    float, Meta(gt=0, le=1e9, description="What storage gives one GPU beyond what is cached.")
]
Argv = Annotated[list[Annotated[str, Meta(max_length=32_768)]], Meta(min_length=1, max_length=1000)]
Env = Annotated[
    dict[str, Annotated[str, Meta(max_length=32_768)]],
    Meta(max_length=1000, description="Never shown again; only its keys, and only to you."),
]
GpuTypeNames = Annotated[
    list[GpuTypeName], Meta(max_length=64, description="Any of these; empty means all.")
]
Watts = Annotated[float, Meta(gt=0, le=100_000)]
Instant = Annotated[datetime, Meta(tz=True)]


class Dependency(Struct, frozen=True, forbid_unknown_fields=True):
    job: Id
    kind: Literal["succeeded", "ended"] = "succeeded"


class PointSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    gpu_type: GpuTypeName
    gpus: Gpus
    steps_per_s: Annotated[float, Meta(gt=0, le=1e12)]
    clock_mhz: Annotated[
        ClockMhz | None, Meta(description="Null when measured without a locked clock.")
    ] = None
    watts_per_gpu: Watts | None = None
    cpus_per_gpu: Annotated[
        PointCpus | None, Meta(description="Null when it had as many as it could use.")
    ] = None
    memory_mib_per_gpu: Annotated[
        PointMemory | None, Meta(description="Null when it had as much as it could use.")
    ] = None

    @property
    def configuration(self) -> tuple[str, int, int | None, float | None, float | None]:
        return (
            self.gpu_type,
            self.gpus,
            self.clock_mhz,
            self.cpus_per_gpu,
            self.memory_mib_per_gpu,
        )


class JobSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: JobName
    cluster: ClusterName
    argv: Argv
    tenant: Annotated[
        TenantName | None, Meta(description="Operators say whose job it is; others leave it out.")
    ] = None
    partition: PartitionName | None = None
    profile: ProfileName | None = None
    points: Annotated[
        list[PointSpec],
        Meta(max_length=INLINE_POINTS_MAX, description="Its own table, instead of a profile."),
    ] = []
    profile_first: Annotated[
        bool, Meta(description="If nothing is known of its profile, measure it before it starts.")
    ] = False
    env: Env = {}
    image: Image | None = None
    gpus: Annotated[Gpus | None, Meta(description="1 unless min_gpus and max_gpus are given.")] = (
        None
    )
    min_gpus: Gpus | None = None
    max_gpus: Gpus | None = None
    gpu_types: GpuTypeNames = []
    cpus_per_gpu: Annotated[int, Meta(ge=0, le=1024)] = 1
    memory_mib_per_gpu: Annotated[int, Meta(ge=0, le=16 * 1024 * 1024)] = 1024
    span: Annotated[
        Literal["node", "rack", "switch", "any"], Meta(description="How far apart its GPUs may be.")
    ] = "any"
    priority: Priority = 50
    deadline_at: Instant | None = None
    tardiness_price_per_h: Price = "0"
    estimated_run_s: Seconds | None = None
    work_total: Work | None = None
    preemptible: bool = True
    restartable: bool = True
    restart_cost_s: Annotated[int, Meta(ge=0, le=86_400)] = 60
    held: bool = False
    depends_on: Annotated[list[Dependency], Meta(max_length=100)] = []

    @property
    def gpu_range(self) -> tuple[int, int]:
        if self.min_gpus is not None and self.max_gpus is not None:
            return self.min_gpus, self.max_gpus
        gpus = self.gpus or 1
        return gpus, gpus


class JobChanges(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    priority: Priority | UnsetType = UNSET
    deadline_at: Instant | UnsetType | None = UNSET
    tardiness_price_per_h: Price | UnsetType = UNSET
    estimated_run_s: Seconds | UnsetType | None = UNSET
    work_total: Work | UnsetType | None = UNSET


class JobsBulk(Struct, frozen=True, forbid_unknown_fields=True):
    """Each job is read as in a single submit, but on its own: bad ones do not stop the others."""

    jobs: Annotated[list[dict[str, Any]], Meta(min_length=1, max_length=BULK_MAX)]


class ArraySpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: ArrayName
    size: Annotated[int, Meta(ge=1, le=ARRAY_MAX)]
    job: Annotated[
        JobSpec, Meta(description="What every job of the array is; they get indexes from 0.")
    ]


Points = Annotated[list[PointSpec], Meta(max_length=POINTS_MAX)]


class PointsSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    points: Annotated[list[PointSpec], Meta(min_length=1, max_length=POINTS_MAX)]


class ProfileSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: ProfileName
    tenant: Annotated[
        TenantName | None, Meta(description="Operators say whose it is; others leave it out.")
    ] = None
    points: Points = []
    dataset_mib: Dataset | None = None
    step_mib: StepData | None = None
    storage_mib_per_s: Storage | None = None


class ProfileChanges(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: ProfileName | UnsetType = UNSET
    points: Annotated[Points | UnsetType, Meta(description="Replaces the points you gave.")] = UNSET
    dataset_mib: Dataset | UnsetType | None = UNSET
    step_mib: StepData | UnsetType | None = UNSET
    storage_mib_per_s: Storage | UnsetType | None = UNSET


class ProfilingSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The program to run for a few minutes, on one GPU, while its clock and CPUs are changed."""

    cluster: ClusterName
    argv: Argv
    env: Env = {}
    image: Image | None = None
    partition: PartitionName | None = None
    gpu_types: GpuTypeNames = []
    cpus: Annotated[
        Annotated[int, Meta(ge=1, le=1024)] | None,
        Meta(description="The most to try; unless given, what half a node's GPUs would get."),
    ] = None
    memory_mib: Annotated[
        Annotated[int, Meta(ge=0, le=16 * 1024 * 1024)] | None,
        Meta(description="Enough to hold its data; unless given, one GPU's share of a node."),
    ] = None
    priority: Priority = 50


def given(changes: Struct) -> dict[str, Any]:
    """The fields of a partial update that were sent."""
    return {name: value for name, value in _items(changes) if value is not UNSET}


def _items(struct: Struct) -> Iterator[tuple[str, Any]]:
    for name in struct.__struct_fields__:
        yield name, getattr(struct, name)
