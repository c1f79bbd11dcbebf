"""What may be submitted: the one place that says which values a job, array or profile can have.

The single submit, the bulk submit and the OpenAPI document all read these structs.
"""

from decimal import Decimal
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from agent.wire.bounds import (
    ABSOLUTE_PATH,
    COMMIT,
    ENV_NAME,
    FILE_NAME,
    GIT_URL,
    IMAGE,
    LONGEST_ARGUMENT,
    LONGEST_ENV_NAME,
    LONGEST_FILE_NAME,
    LONGEST_IMAGE,
    LONGEST_PATH,
    LONGEST_URL,
    MOST_ARGUMENTS,
    MOST_ARTIFACTS,
    MOST_MOUNTS,
    MOST_SECRETS,
    RELATIVE_PATH,
)
from jobs.models import Job, JobDependency
from rest.names import SLUG
from rest.structs import Id, Input, Instant, amount, matching, patch_of, unread

BULK_MAX = 10_000
ARRAY_MAX = 10_000
POINTS_MAX = 1000
INLINE_POINTS_MAX = 100

_PRINTABLE = r"^[^\x00-\x1f\x7f]+$"
TenantName = Annotated[str, matching(SLUG)]
ClusterName = Annotated[str, matching(SLUG, example="demo")]
PartitionName = Annotated[str, matching(SLUG)]
ProfileName = Annotated[str, matching(r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,127}$")]
GpuTypeName = Annotated[str, matching(r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$", example="A100")]
JobName = Annotated[str, matching(_PRINTABLE, max_length=200, example="resnet-50")]
ArrayName = Annotated[str, matching(_PRINTABLE, max_length=200, example="sweep")]
Image = Annotated[str, matching(rf"^{IMAGE}$", max_length=LONGEST_IMAGE)]
Gpus = Annotated[int, Meta(ge=1, le=4096)]
Priority = Annotated[int, Meta(ge=0, le=100, description="100 goes first.")]
Seconds = Annotated[int, Meta(ge=1, le=10 * 365 * 86_400)]
RunLease = Annotated[int, Meta(ge=300, le=86_400, examples=[3600])]
Work = Annotated[float, Meta(gt=0, le=1e15, description="In steps of the job's own kind.")]
Price = Annotated[
    Decimal,
    amount(
        14,
        6,
        pattern=r"^(0|[1-9][0-9]{0,7})(\.[0-9]{1,6})?$",
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
Argv = Annotated[
    list[Annotated[str, Meta(max_length=LONGEST_ARGUMENT)]],
    Meta(
        min_length=1,
        max_length=MOST_ARGUMENTS,
        examples=[["python3", "train.py", "--epochs", "90"]],
    ),
]
Env = Annotated[
    dict[str, Annotated[str, Meta(max_length=LONGEST_ARGUMENT)]],
    Meta(max_length=1000, description="Never shown again; only its keys, and only to you."),
]
LabelName = Annotated[str, matching(r"^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$")]
Labels = Annotated[
    dict[LabelName, Annotated[str, Meta(max_length=200)]],
    Meta(
        max_length=64,
        description="Your own words for it, to find jobs by: `?label=team=vision`.",
        examples=[{"team": "vision", "run": "nightly"}],
    ),
]
Digest = Annotated[str, matching(r"^[0-9a-f]{64}$", description="Of an archive you uploaded.")]
GitUrl = Annotated[
    str,
    matching(
        rf"^{GIT_URL}$",
        max_length=LONGEST_URL,
        description="Cloned by the nodes; without name and password.",
    ),
]
Commit = Annotated[
    str, matching(rf"^{COMMIT}$", description="The whole object name: branches move.")
]
VolumeName = Annotated[str, matching(SLUG, example="datasets")]
SecretName = Annotated[str, matching(SLUG, example="wandb-key")]
Target = Annotated[
    str,
    matching(
        rf"^{ABSOLUTE_PATH}$",
        max_length=LONGEST_PATH,
        example="/data",
        description="Where the job sees it.",
    ),
]
FileName = Annotated[
    str, matching(rf"^{FILE_NAME}$", max_length=LONGEST_FILE_NAME, example="model")
]
RelativePath = Annotated[
    str,
    matching(
        rf"^{RELATIVE_PATH}$",
        max_length=LONGEST_PATH,
        example="out/model.pt",
        description="A file or folder below the working directory.",
    ),
]
VariableName = Annotated[
    str, matching(rf"^{ENV_NAME}$", max_length=LONGEST_ENV_NAME, example="WANDB_API_KEY")
]
GpuTypeNames = Annotated[
    list[GpuTypeName], Meta(max_length=64, description="Any of these; empty means all.")
]
Watts = Annotated[float, Meta(gt=0, le=100_000, examples=[320.0])]


class Dependency(Input, frozen=True):
    job: Id
    kind: JobDependency.Kind = JobDependency.Kind.SUCCEEDED


class WorkdirSpec(Input, frozen=True):
    """An archive, or a git URL with a commit."""

    archive: Annotated[
        Digest | None,
        Meta(examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"]),
    ] = None
    git: GitUrl | None = None
    commit: Commit | None = None


class MountSpec(Input, frozen=True):
    volume: VolumeName
    target: Target
    read_only: bool = True


class ArtifactSpec(Input, frozen=True):
    name: FileName
    path: RelativePath


class SecretUse(Input, frozen=True):
    """Given as a variable, or as a file in the folder that FAIRWATT_SECRETS_DIR names."""

    name: SecretName
    variable: VariableName | None = None
    file: Annotated[FileName | None, Meta(examples=[None])] = None


class PointSpec(Input, frozen=True, omit_defaults=True):
    gpu_type: GpuTypeName
    gpus: Annotated[Gpus, Meta(examples=[4])]
    steps_per_s: Annotated[float, Meta(gt=0, le=1e12, examples=[11.5])]
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


class JobSpec(Input, frozen=True):
    # What has the name of a job's column is stored there: see jobs/services/store.py.
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
    env: Annotated[Env, Meta(examples=[{"WANDB_MODE": "offline"}])] = {}
    labels: Labels = {}
    image: Annotated[
        Image | None, Meta(description="Run in a container of it, on nodes that can.")
    ] = None
    processes: Annotated[
        Job.Processes,
        Meta(description="How many processes an attempt is, wherever its GPUs lie."),
    ] = Job.Processes.ONE
    workdir: Annotated[
        WorkdirSpec | None, Meta(description="What its working directory holds at the start.")
    ] = None
    mounts: Annotated[
        list[MountSpec], Meta(max_length=MOST_MOUNTS, description="Volumes of the cluster.")
    ] = []
    artifacts: Annotated[
        list[ArtifactSpec],
        Meta(max_length=MOST_ARTIFACTS, description="Paths that are kept after its end."),
    ] = []
    secrets: Annotated[
        list[SecretUse], Meta(max_length=MOST_SECRETS, description="Secrets of the tenant.")
    ] = []
    time_limit_s: Annotated[
        Seconds | None,
        Meta(
            description="For how long it may run, all attempts together; then it has failed.",
            examples=[86_400],
        ),
    ] = None
    max_retries: Annotated[
        int,
        Meta(
            ge=0,
            le=100,
            description="How often it is tried again after it failed by itself. What a node or a "
            "round stopped goes back to the queue in any case.",
            examples=[2],
        ),
    ] = 0
    retry_on: Annotated[
        list[Job.RetryOn],
        Meta(
            max_length=len(Job.RetryOn),
            description="Which ends are tried again; exit and signal unless given.",
            examples=[["exit", "signal"]],
        ),
    ] = []
    retry_backoff_s: Annotated[
        int,
        Meta(
            ge=1,
            le=86_400,
            description="Before the first retry; twice as long before each further one, at most "
            "an hour or this.",
        ),
    ] = 10
    gpus: Annotated[
        Gpus | None,
        Meta(description="1 unless min_gpus and max_gpus are given.", examples=[4]),
    ] = None
    min_gpus: Gpus | None = None
    max_gpus: Gpus | None = None
    gpu_types: GpuTypeNames = []
    cpus_per_gpu: Annotated[int, Meta(ge=0, le=1024, examples=[8])] = 1
    memory_mib_per_gpu: Annotated[
        Annotated[int, Meta(ge=0, le=16 * 1024 * 1024)] | None,
        Meta(
            description="Unless given, one GPU's share of a node's memory; 0 is no limit.",
            examples=[65_536],
        ),
    ] = None
    span: Annotated[
        Job.Span | None,
        Meta(
            description="How far apart its GPUs may be. Unless given, as far as there are nodes; "
            "those of a single process are in one node.",
            examples=["node"],
        ),
    ] = None
    priority: Priority = 50
    deadline_at: Instant | None = None
    tardiness_price_per_h: Price = Decimal(0)
    estimated_run_s: Annotated[Seconds | None, Meta(examples=[14_400])] = None
    work_total: Work | None = None
    preemptible: bool = True
    restartable: bool = True
    restart_cost_s: Annotated[int, Meta(ge=0, le=86_400)] = 60
    run_lease_s: Annotated[
        RunLease | None,
        Meta(
            description="How long it may run unheard, while nodes and service do not reach"
            " each other; null: as long as the service says."
        ),
    ] = None
    held: bool = False
    depends_on: Annotated[list[Dependency], Meta(max_length=100)] = []

    @property
    def gpu_range(self) -> tuple[int, int]:
        if self.min_gpus is not None and self.max_gpus is not None:
            return self.min_gpus, self.max_gpus
        gpus = self.gpus or 1
        return gpus, gpus

    @property
    def widest(self) -> Job.Span:
        """One process cannot use the GPUs of two nodes."""
        if self.span is not None:
            return self.span
        alone = self.processes == Job.Processes.ONE and self.gpu_range[1] > 1
        return Job.Span.NODE if alone else Job.Span.ANY


class JobPatch(Input, frozen=True):
    priority: Annotated[Priority | UnsetType, Meta(examples=[80])] = UNSET
    deadline_at: Instant | UnsetType | None = UNSET
    tardiness_price_per_h: Price | UnsetType = UNSET
    estimated_run_s: Seconds | UnsetType | None = UNSET
    work_total: Work | UnsetType | None = UNSET


class JobsBulk(Input, frozen=True):
    """Each job is read as in a single submit, but on its own: bad ones do not stop the others."""

    jobs: Annotated[
        list[Annotated[dict[str, Any], unread(JobSpec)]],
        Meta(
            min_length=1,
            max_length=BULK_MAX,
            examples=[[{"name": "resnet-50", "cluster": "demo", "argv": ["python3", "train.py"]}]],
        ),
    ]


class ArraySpec(Input, frozen=True):
    name: ArrayName
    size: Annotated[int, Meta(ge=1, le=ARRAY_MAX, examples=[100])]
    job: Annotated[
        JobSpec, Meta(description="What every job of the array is; they get indexes from 0.")
    ]


Points = Annotated[list[PointSpec], Meta(max_length=POINTS_MAX)]


class PointsSpec(Input, frozen=True):
    points: Annotated[list[PointSpec], Meta(min_length=1, max_length=POINTS_MAX)]


class ProfileSpec(Input, frozen=True):
    name: Annotated[ProfileName, Meta(examples=["resnet-50/imagenet"])]
    tenant: Annotated[
        TenantName | None, Meta(description="Operators say whose it is; others leave it out.")
    ] = None
    points: Points = []
    dataset_mib: Dataset | None = None
    step_mib: StepData | None = None
    storage_mib_per_s: Storage | None = None


ProfilePatch = patch_of(
    ProfileSpec,
    "ProfilePatch",
    omit={"tenant"},
    add={"points": Annotated[Points, Meta(description="Replaces the points you gave.")]},
)


class ProfilingSpec(Input, frozen=True):
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
