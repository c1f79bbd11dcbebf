"""What may be submitted: the one place that says which values a job, array or profile can have.

The single submit, the bulk submit and the OpenAPI document all read these structs.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from clusters.models.cluster import SLUG

BULK_MAX = 10_000
ARRAY_MAX = 10_000
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
Watts = Annotated[float, Meta(gt=0, le=100_000)]
Instant = Annotated[datetime, Meta(tz=True)]


class Dependency(Struct, frozen=True, forbid_unknown_fields=True):
    job: Id
    kind: Literal["succeeded", "ended"] = "succeeded"


class JobSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: JobName
    cluster: ClusterName
    argv: Annotated[
        list[Annotated[str, Meta(max_length=32_768)]], Meta(min_length=1, max_length=1000)
    ]
    tenant: Annotated[
        TenantName | None, Meta(description="Operators say whose job it is; others leave it out.")
    ] = None
    partition: PartitionName | None = None
    profile: ProfileName | None = None
    env: Annotated[
        dict[str, Annotated[str, Meta(max_length=32_768)]],
        Meta(max_length=1000, description="Never shown again; only its keys, and only to you."),
    ] = {}
    image: Image | None = None
    gpus: Annotated[Gpus | None, Meta(description="1 unless min_gpus and max_gpus are given.")] = (
        None
    )
    min_gpus: Gpus | None = None
    max_gpus: Gpus | None = None
    gpu_types: Annotated[
        list[GpuTypeName], Meta(max_length=64, description="Any of these; empty means all.")
    ] = []
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


class ProfilePoint(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    gpu_type: GpuTypeName
    gpus: Gpus
    steps_per_s: Annotated[float, Meta(gt=0, le=1e12)]
    clock_mhz: Annotated[
        ClockMhz | None, Meta(description="Null when measured without a locked clock.")
    ] = None
    watts_per_gpu: Watts | None = None


Points = Annotated[list[ProfilePoint], Meta(max_length=1000)]


class ProfileSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: ProfileName
    tenant: Annotated[
        TenantName | None, Meta(description="Operators say whose it is; others leave it out.")
    ] = None
    points: Points = []


class ProfileChanges(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: ProfileName | UnsetType = UNSET
    points: Points | UnsetType = UNSET


def given(changes: Struct) -> dict[str, Any]:
    """The fields of a partial update that were sent."""
    return {name: value for name, value in _items(changes) if value is not UNSET}


def _items(struct: Struct) -> Iterator[tuple[str, Any]]:
    for name in struct.__struct_fields__:
        yield name, getattr(struct, name)
