"""Shapes of what the work's resources answer; what they take is in jobs/specs.py."""

from decimal import Decimal
from typing import Annotated, Any

from msgspec import Meta

from jobs.models import (
    Artifact,
    Attempt,
    Job,
    JobDependency,
    Log,
    Profile,
    ProfileFit,
    ProfilePoint,
)
from jobs.models import ProfilingRun as Run
from jobs.specs import GpuTypeName
from rest.structs import (
    Count,
    From,
    Id,
    Input,
    Instant,
    Number,
    Output,
    Version,
    amount,
    json_object,
    patch_of,
)
from tenancy.api.structs import TenantId

JobId = Annotated[int, Meta(examples=[4711])]
RoundId = Annotated[int, Meta(examples=[88])]
TenantName = Annotated[str, From("tenant_name"), Meta(examples=["vision-lab"])]
ClusterName = Annotated[str, From("cluster_name"), Meta(examples=["demo"])]
GpuType = Annotated[str, Meta(examples=["A100"])]
Gpus = Annotated[int, Meta(examples=[4])]
ClockMhz = Annotated[int, Meta(examples=[1410])]
MemoryMib = Annotated[int, Meta(examples=[65_536])]
Reason = Annotated[str, Meta(examples=["submitted"])]
ByteOffset = Annotated[int, Meta(examples=[26])]


class MountOut(Output, frozen=True):
    volume: Annotated[str, Meta(examples=["datasets"])]
    target: Annotated[str, Meta(examples=["/data"])]
    read_only: bool


class ArtifactPathOut(Output, frozen=True):
    name: Annotated[str, Meta(examples=["model"])]
    path: Annotated[str, Meta(examples=["out/model.pt"])]


class SecretUseOut(Output, frozen=True):
    """Which secret it gets, and how; never its value."""

    name: Annotated[str, Meta(examples=["wandb-key"])]
    variable: Annotated[str | None, Meta(examples=["WANDB_API_KEY"])]
    file: Annotated[str | None, Meta(examples=[None])]


class JobOut(Output, frozen=True):
    id: JobId
    name: Annotated[str, Meta(examples=["resnet-50"])]
    tenant: TenantName
    cluster: ClusterName
    partition: Annotated[str | None, From("partition_name")]
    profile: Annotated[str | None, From("profile_name")]
    profile_basis: Annotated[
        Profile.Basis,
        Meta(description="What its speed is predicted from; neutral: from its own estimate alone."),
    ]
    array_id: int | None
    array_index: int | None
    state: Job.State
    reason: Reason
    exit_code: Annotated[
        int | None,
        Meta(
            description="As a shell has it: 128 and the signal's number if one ended it; null "
            "while the job is not over, and where there is none.",
            examples=[None],
        ),
    ]
    held: bool
    unmet_dependencies: Annotated[int, Meta(examples=[0])]
    argv: Annotated[list[str], Meta(examples=[["python3", "train.py", "--epochs", "90"]])]
    env_keys: Annotated[
        list[str] | None,
        Meta(
            description="Names only, and only to the tenant itself; values are never shown.",
            examples=[["WANDB_MODE"]],
        ),
    ]
    labels: Annotated[dict[str, str], Meta(examples=[{"team": "vision", "run": "nightly"}])]
    image: str | None
    min_gpus: Gpus
    max_gpus: Gpus
    gpu_types: list[GpuType]
    cpus_per_gpu: Annotated[int, Meta(examples=[8])]
    memory_mib_per_gpu: Annotated[
        MemoryMib | None, Meta(description="Null: its GPUs' share of a node's memory.")
    ]
    span: Annotated[Job.Span, Meta(examples=["any"])]
    processes: Annotated[Job.Processes, Meta(examples=["one"])]
    archive: Annotated[
        str | None, Meta(description="The digest of what fills its working directory.")
    ]
    git_url: str | None
    git_commit: str | None
    mounts: list[MountOut]
    artifacts: list[ArtifactPathOut]
    secrets: list[SecretUseOut]
    time_limit_s: Annotated[int | None, Meta(examples=[86_400])]
    max_retries: Annotated[int, Meta(examples=[2])]
    retries: Annotated[int, Meta(description="How often it was tried again.", examples=[0])]
    retry_on: Annotated[list[str], Meta(examples=[["exit", "signal"]])]
    retry_backoff_s: Annotated[int, Meta(examples=[10])]
    retry_at: Annotated[
        Instant | None,
        Meta(description="It is tried again, but not before then.", examples=[None]),
    ]
    priority: Annotated[int, Meta(examples=[50])]
    deadline_at: Instant | None
    tardiness_price_per_h: Annotated[Decimal, amount(14, 6, example="0.000000")]
    estimated_run_s: Annotated[int | None, Meta(examples=[14_400])]
    work_total: Number | None
    work_done: Annotated[Number, Meta(examples=[0.0])]
    attained_gpu_s: Annotated[Number, Meta(examples=[0.0])]
    preemptible: Annotated[bool, Meta(examples=[True])]
    restartable: Annotated[bool, Meta(examples=[True])]
    restart_cost_s: Annotated[int, Meta(examples=[60])]
    run_lease_s: Annotated[int | None, Meta(examples=[None])]
    checkpoint_at: Annotated[Instant | None, Meta(examples=[None])]
    submitted_at: Instant
    placed_at: Annotated[Instant | None, Meta(examples=[None])]
    started_at: Annotated[Instant | None, Meta(examples=[None])]
    ended_at: Annotated[Instant | None, Meta(examples=[None])]
    version: Version


class DependencyOut(Output, frozen=True):
    job: Annotated[int, From("on_job_id"), Meta(examples=[4700])]
    kind: JobDependency.Kind
    met_at: Annotated[Instant | None, Meta(examples=[None])]


class JobDetailOut(JobOut, frozen=True):
    depends_on: list[DependencyOut]


class FaultOut(Output, frozen=True):
    pointer: Annotated[str, Meta(examples=["/jobs/1/cluster"])]
    code: Annotated[str, Meta(examples=["unknown_cluster"])]
    detail: Annotated[str, Meta(examples=["There is no such cluster."])]


class JobMadeOut(JobOut, frozen=True):
    """`warnings` are about what will not start, or looks wrong; the job is stored all the same."""

    warnings: Annotated[list[FaultOut], Meta(examples=[[]])]


class ItemProblemOut(Output, frozen=True):
    code: Annotated[str, Meta(examples=["unknown_cluster"])]
    detail: Annotated[str, Meta(examples=["There is no such cluster."])]
    errors: list[FaultOut]


class ItemResultOut(Output, frozen=True):
    """Of one job: 201 with its id and warnings, or the problem a single submit would have had."""

    index: Annotated[int, Meta(examples=[1])]
    status: Annotated[int, Meta(examples=[409])]
    id: int | None
    problem: ItemProblemOut | None
    warnings: Annotated[list[FaultOut], Meta(examples=[[]])]


class BulkOut(Output, frozen=True):
    stored: Annotated[int, Meta(examples=[1])]
    refused: Annotated[int, Meta(examples=[1])]
    items: list[ItemResultOut]


class EventOut(Output, frozen=True):
    id: Annotated[int, Meta(examples=[90_210])]
    job_id: JobId
    at: Instant
    from_state: Annotated[Job.State | None, Meta(examples=["queued"])]
    to_state: Annotated[Job.State, Meta(examples=["placed"])]
    reason: Annotated[str, Meta(examples=["placed"])]
    round_id: Annotated[RoundId | None, From("detail.round")]
    attempt: Annotated[int | None, From("detail.attempt")]
    detail: Annotated[str | None, From("detail.detail")]


class JobEventOut(EventOut, frozen=True):
    """A move among those of many jobs, with what tells one job from another."""

    name: Annotated[str, From("job_name"), Meta(examples=["train"])]
    tenant: TenantName
    cluster: ClusterName
    array_id: Annotated[int | None, Meta(examples=[None])]
    labels: Annotated[dict[str, str], Meta(examples=[{"team": "vision"}])]


class ArrayOut(Output, frozen=True):
    id: Annotated[int, Meta(examples=[12])]
    name: Annotated[str, Meta(examples=["sweep"])]
    tenant: TenantName
    size: Annotated[int, Meta(examples=[100])]
    created_at: Instant


class ArrayMadeOut(ArrayOut, frozen=True):
    """`warnings` hold for each of its jobs; they are stored all the same."""

    warnings: Annotated[list[FaultOut], Meta(examples=[[]])]


class StatesOut(Output, frozen=True):
    """How many of the array's jobs are in each state."""

    queued: Annotated[Count, Meta(examples=[60])]
    placed: Annotated[Count, Meta(examples=[0])]
    running: Annotated[Count, Meta(examples=[8])]
    preempting: Annotated[Count, Meta(examples=[0])]
    succeeded: Annotated[Count, Meta(examples=[32])]
    failed: Annotated[Count, Meta(examples=[0])]
    cancelled: Annotated[Count, Meta(examples=[0])]


class ArrayDetailOut(ArrayOut, frozen=True):
    states: StatesOut


class CancelledOut(Output, frozen=True):
    cancelled: Annotated[int, Meta(examples=[60])]
    stopping: Annotated[
        int,
        Meta(description="Asked to stop; cancelled when their agents say so.", examples=[8]),
    ]


class AttemptOut(Output, frozen=True):
    id: Annotated[int, Meta(examples=[801])]
    job_id: JobId
    tenant: TenantName
    cluster: ClusterName
    round_id: RoundId | None
    number: Annotated[int, Meta(examples=[1])]
    state: Attempt.State
    reason: Annotated[str, Meta(examples=[""])]
    gpus: Gpus
    clock_mhz: ClockMhz | None
    offered_at: Instant
    started_at: Annotated[Instant | None, Meta(examples=[None])]
    ended_at: Annotated[Instant | None, Meta(examples=[None])]
    exit_code: Annotated[int | None, Meta(examples=[None])]
    signal: Annotated[int | None, Meta(examples=[None])]
    out_of_memory: Annotated[bool, Meta(examples=[False])]
    detail: Annotated[str, Meta(description="What its node said of its end.", examples=[""])]


class AllocationOut(Output, frozen=True):
    node: Annotated[str, From("node.name"), Meta(examples=["gpu-node-1"])]
    gpu_index: Annotated[int, From("gpu.index"), Meta(examples=[0])]
    gpu_uuid: Annotated[str, From("gpu.uuid"), Meta(examples=["GPU-5d6f1a2b"])]
    cpus: Annotated[int, Meta(examples=[8])]
    memory_mib: MemoryMib
    held_at: Instant
    released_at: Annotated[Instant | None, Meta(examples=[None])]


class AttemptDetailOut(AttemptOut, frozen=True):
    allocations: list[AllocationOut]


class StreamOut(Output, frozen=True):
    attempt: Annotated[int, From("number"), Meta(examples=[1])]
    node: Annotated[str, From("node_name"), Meta(examples=["node-1"])]
    stream: Log.Stream
    rank: Annotated[
        int, Meta(description="Whose process printed it; -1: all of the node's.", examples=[-1])
    ]
    size: ByteOffset
    closed: Annotated[bool, Meta(description="Nothing will follow.", examples=[True])]


class LogOut(StreamOut, frozen=True):
    """One stream's text; `next_offset` is where to go on."""

    job_id: JobId
    offset: Annotated[int, Meta(examples=[0])]
    next_offset: ByteOffset
    text: Annotated[str, Meta(examples=["starting at step 0\ndone: 7\n"])]
    streams: list[StreamOut]


class ArtifactOut(Output, frozen=True):
    id: Annotated[int, Meta(examples=[55])]
    job_id: JobId
    attempt: Annotated[int, From("number"), Meta(examples=[1])]
    node: Annotated[str, From("node_name"), Meta(examples=["node-1"])]
    name: Annotated[str, Meta(examples=["model"])]
    path: Annotated[str, Meta(examples=["out/model.pt"])]
    file_name: Annotated[str, Meta(examples=["model"])]
    state: Annotated[Artifact.State, Meta(examples=["stored"])]
    detail: Annotated[str, Meta(description="Why it is missing or refused.", examples=[""])]
    packed: Annotated[bool, Meta(description="Whether it is a folder, as tar.gz.")]
    size: Annotated[int | None, Meta(examples=[48_213])]
    digest: Annotated[
        str | None,
        Meta(examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"]),
    ]
    created_at: Instant


class PointOut(Output, frozen=True):
    gpu_type: GpuType
    gpus: Gpus
    steps_per_s: Annotated[Number, Meta(examples=[11.5])]
    clock_mhz: ClockMhz | None
    watts_per_gpu: Annotated[Number | None, Meta(examples=[320.0])]
    cpus_per_gpu: Number | None
    memory_mib_per_gpu: Number | None


class MeasuredPointOut(PointOut, frozen=True):
    id: Annotated[int, Meta(examples=[41])]
    source: Annotated[ProfilePoint.Source, Meta(examples=["learned"])]
    weight: Annotated[Number, Meta(examples=[1.5])]
    accepted: Annotated[
        bool,
        Meta(description="False: too far from what is known to be believed.", examples=[True]),
    ]
    attempt_id: Annotated[int | None, Meta(examples=[801])]
    measured_at: Instant


_THROUGHPUT = {
    "parameters": {"alpha0": 0.02, "alpha2": 0.08, "reference_mhz": 1410.0},
    "ranges": {"gpus": [1, 4], "clock_mhz": [705, 1410]},
    "spread": 0.02,
    "points": 5,
    "mean_error": 0.004,
    "worst_error": 0.009,
    "residuals": [0.004],
    "wide": False,
    "notes": [],
}
_MODELS = {"types": {"A100": {"throughput": _THROUGHPUT, "power": None}}, "sensitivity": None}


class FitOut(Output, frozen=True):
    """One version: models by GPU type, with relative errors and the ranges in which they hold."""

    number: Annotated[int, Meta(examples=[1])]
    cause: ProfileFit.Cause
    points: Annotated[int, Meta(examples=[5])]
    mean_error: Annotated[Number | None, Meta(examples=[0.004])]
    worst_error: Annotated[Number | None, Meta(examples=[0.009])]
    models: Annotated[dict[str, Any], From("models_fitted"), json_object(example=_MODELS)]
    made_at: Instant


class ProfileOut(Output, frozen=True):
    id: Annotated[int, Meta(examples=[3])]
    name: Annotated[str, Meta(examples=["resnet-50/imagenet"])]
    tenant: TenantName
    basis: Annotated[Profile.Basis, Meta(examples=["fitted"])]
    inline: bool
    dataset_mib: Number | None
    step_mib: Number | None
    storage_mib_per_s: Number | None
    points: Annotated[list[PointOut], From("given_points")]
    fit: FitOut | None
    fit_refused: Annotated[
        str, Meta(description="Why the newest points were not fitted.", examples=[""])
    ]
    drift: Annotated[
        str, Meta(description="How the newest attempts contradict the fit.", examples=[""])
    ]
    drift_at: Annotated[Instant | None, Meta(examples=[None])]
    version: Version
    created_at: Instant
    updated_at: Instant


class PredictionOut(Output, frozen=True):
    """`leaves` names what lies outside everything measured: there the interval is a guess."""

    profile_id: Annotated[int, Meta(examples=[3])]
    fit: Annotated[int | None, Meta(examples=[1])]
    gpu_type: GpuType
    gpus: Gpus
    clock_mhz: ClockMhz | None
    cpus_per_gpu: Annotated[Number | None, Meta(examples=[4.0])]
    memory_mib_per_gpu: Number | None
    source: Annotated[Profile.Basis, Meta(examples=["fitted"])]
    steps_per_s: Annotated[Number | None, Meta(examples=[6.3])]
    low: Annotated[Number | None, Meta(examples=[6.2])]
    high: Annotated[Number | None, Meta(examples=[6.4])]
    watts_per_gpu: Annotated[Number | None, Meta(examples=[214.0])]
    low_w: Annotated[Number | None, Meta(examples=[210.0])]
    high_w: Annotated[Number | None, Meta(examples=[218.0])]
    extrapolated: bool
    leaves: Annotated[list[str], Meta(examples=[[]])]


class SweptOut(Output, frozen=True):
    clock_mhz: ClockMhz | None
    cpus: Annotated[int, Meta(examples=[32])]
    steps_per_s: Annotated[Number | None, Meta(examples=[10.1])]
    watts: Annotated[Number | None, Meta(examples=[396.0])]


class ProfilingRunOut(Output, frozen=True):
    id: Annotated[int, Meta(examples=[7])]
    profile_id: Annotated[int, Meta(examples=[3])]
    job_id: Annotated[int, Meta(examples=[4712])]
    cluster: ClusterName
    state: Annotated[Run.State, Meta(examples=["admitted"])]
    detail: Annotated[str, Meta(examples=[""])]
    measured: list[SweptOut]
    created_at: Instant
    admitted_at: Instant | None
    began_at: Instant | None
    ended_at: Annotated[Instant | None, Meta(examples=[None])]


class GpuQuotaOut(Output, frozen=True):
    """`gpus_in_use` moves without a new version."""

    id: Annotated[int, Meta(examples=[4])]
    tenant_id: Id
    gpu_type: Annotated[GpuType, From("gpu_type.name")]
    gpus: Annotated[int, Meta(examples=[32])]
    gpus_in_use: Annotated[int, Meta(examples=[12])]
    version: Version


class GpuQuotaCreate(Input, frozen=True):
    tenant_id: Annotated[TenantId, Meta(examples=[7])]
    gpu_type: GpuTypeName
    gpus: Annotated[int, Meta(ge=0, le=1_000_000, examples=[32])]


GpuQuotaPatch = patch_of(GpuQuotaCreate, "GpuQuotaPatch", omit={"tenant_id", "gpu_type"})
