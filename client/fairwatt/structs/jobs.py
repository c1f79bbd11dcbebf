"""Jobs, as they are submitted and as they are shown."""

from datetime import datetime
from decimal import Decimal

from msgspec import UNSET, Struct, UnsetType

from fairwatt.structs.profiles import PointSpec
from fairwatt.structs.words import JobState


class Dependency(Struct, frozen=True):
    """Wait for `job`, until it succeeded or (`ended`) is over however."""

    job: int
    kind: str = "succeeded"


class Workdir(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What the working directory holds: an uploaded archive, or a git URL with a commit."""

    archive: str | None = None
    git: str | None = None
    commit: str | None = None


class Mount(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A volume of the cluster, at a path of the job."""

    volume: str
    target: str
    read_only: bool = True


class ArtifactPath(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A path that is kept after the job's end."""

    name: str
    path: str


class SecretUse(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A secret of the tenant, given as a variable or as a file."""

    name: str
    variable: str | None = None
    file: str | None = None


class JobSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What to run; what is left out is as the service has it.

    `cluster` may be left out where the client has one, or the service has only one.
    """

    argv: list[str]
    name: str = ""
    cluster: str = ""
    tenant: str | None = None
    partition: str | None = None
    profile: str | None = None
    points: list[PointSpec] = []
    profile_first: bool = False
    env: dict[str, str] = {}
    labels: dict[str, str] = {}
    image: str | None = None
    processes: str | None = None
    workdir: Workdir | None = None
    mounts: list[Mount] = []
    artifacts: list[ArtifactPath] = []
    secrets: list[SecretUse] = []
    time_limit_s: int | None = None
    max_retries: int | None = None
    retry_on: list[str] = []
    retry_backoff_s: int | None = None
    gpus: int | None = None
    min_gpus: int | None = None
    max_gpus: int | None = None
    gpu_types: list[str] = []
    cpus_per_gpu: int | None = None
    memory_mib_per_gpu: int | None = None
    span: str | None = None
    priority: int | None = None
    deadline_at: datetime | None = None
    tardiness_price_per_h: Decimal | None = None
    estimated_run_s: int | None = None
    work_total: float | None = None
    preemptible: bool | None = None
    restartable: bool | None = None
    restart_cost_s: int | None = None
    held: bool = False
    depends_on: list[Dependency] = []


class JobPatch(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What to change of a queued job; None takes a deadline or an estimate away."""

    priority: int | UnsetType = UNSET
    deadline_at: datetime | UnsetType | None = UNSET
    tardiness_price_per_h: Decimal | UnsetType = UNSET
    estimated_run_s: int | UnsetType | None = UNSET
    work_total: float | UnsetType | None = UNSET


class Job(Struct, frozen=True, kw_only=True):
    """A job as it stands; `state` says where it is, `reason` why."""

    id: int
    name: str
    tenant: str
    cluster: str
    partition: str | None
    profile: str | None
    profile_basis: str
    array_id: int | None
    array_index: int | None
    state: JobState
    reason: str
    exit_code: int | None
    held: bool
    unmet_dependencies: int
    argv: list[str]
    env_keys: list[str] | None
    labels: dict[str, str]
    image: str | None
    min_gpus: int
    max_gpus: int
    gpu_types: list[str]
    cpus_per_gpu: int
    memory_mib_per_gpu: int | None
    span: str
    priority: int
    deadline_at: datetime | None
    tardiness_price_per_h: Decimal
    estimated_run_s: int | None
    work_total: float | None
    work_done: float
    attained_gpu_s: float
    preemptible: bool
    restartable: bool
    restart_cost_s: int
    checkpoint_at: datetime | None
    submitted_at: datetime
    placed_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    version: int

    @property
    def ended(self) -> bool:
        return self.state.ended


class MetDependency(Struct, frozen=True):
    """A job that is waited for; `met_at` once it need not be."""

    job: int
    kind: str
    met_at: datetime | None


class JobDetail(Job, frozen=True, kw_only=True):
    """A job with what it waits for."""

    depends_on: list[MetDependency]


class Event(Struct, frozen=True):
    """One move of a job."""

    id: int
    job_id: int
    at: datetime
    from_state: JobState | None
    to_state: JobState
    reason: str
    round_id: int | None
    attempt: int | None
    detail: str | None


class JobEvent(Event, frozen=True):
    """One move among those of many jobs, with what tells its job from others."""

    name: str
    tenant: str
    cluster: str
    array_id: int | None
    labels: dict[str, str]


class Cancelled(Struct, frozen=True):
    """How many jobs were cancelled at once, and how many are asked to stop."""

    cancelled: int
    stopping: int
