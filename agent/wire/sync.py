"""The heartbeat: what runs and how the GPUs are, against what should run."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, field

from agent.wire.bounds import (
    ENV_NAME,
    IMAGE,
    LONGEST_ARGUMENT,
    LONGEST_ENV_NAME,
    LONGEST_IMAGE,
    MAX_ATTEMPTS,
    MAX_GPUS,
    MAX_RANK,
    MOST_ARGUMENTS,
    MOST_ARTIFACTS,
    MOST_MOUNTS,
    MOST_SECRETS,
    BootId,
    Count,
    Cpus,
    Detail,
    ExitCode,
    Fence,
    Id,
    Interval,
    Key,
    Lease,
    Mebibytes,
    Megahertz,
    Millijoules,
    Seconds,
    Short,
    Signal,
    Uuid,
    Watts,
    text,
)
from agent.wire.message import AgentMessage, ServiceMessage, WireError
from agent.wire.register import EnergyMethod
from agent.wire.workload import ArtifactPath, Mount, Processes, SecretValue, Workdir

EnvName = Annotated[str, text(LONGEST_ENV_NAME, ENV_NAME)]
Argument = Annotated[str, text(LONGEST_ARGUMENT)]


class State(StrEnum):
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    ENDED = "ended"


class End(StrEnum):
    """Why an attempt is over, seen from the node; exit code and signal are told beside it."""

    EXITED = "exited"  # by itself
    STOPPED = "stopped"  # after the service asked for it
    LEASE_LOST = "lease_lost"  # no sync succeeded for a run lease
    REFUSED = "refused"  # never started here; the detail says why
    NODE_REBOOTED = "node_rebooted"
    SHIM_LOST = "shim_lost"  # killed from outside, exit code unknown
    INPUT_FAILED = "input_failed"  # never started: what it brings along cannot be had or used
    TIME_LIMIT = "time_limit"  # it ran for as long as its time_limit_s


class Power(StrEnum):
    """Of the node itself; one that can speak while it is off is an emulated one."""

    ON = "on"
    BOOTING = "booting"
    OFF = "off"


class AttemptRef(ServiceMessage, frozen=True):
    attempt_id: Id
    fence: Fence


class AttemptEnergy(AgentMessage, frozen=True):
    """The counter when the attempt took the GPU, and now (or when it left the GPU)."""

    uuid: Uuid
    start_mj: Millijoules
    now_mj: Millijoules
    method: EnergyMethod = EnergyMethod.COUNTER

    def __post_init__(self) -> None:
        if self.now_mj < self.start_mj:
            raise WireError("/now_mj", "below start_mj")


class Speed(AgentMessage, frozen=True):
    """What was measured since the attempt settled at this clock (null: unlocked) and CPU count.

    `energy_mj` and `energy_s` add up its GPUs on the node: their quotient is one GPU's mean power.
    """

    steps: Count
    steps_s: Seconds
    energy_mj: Millijoules = 0
    energy_s: Seconds = 0.0
    clock_mhz: Megahertz | None = None
    cpus: Cpus = 0


class Fetched(StrEnum):
    """What an attempt brings along from elsewhere."""

    ARCHIVE = "archive"
    GIT = "git"
    IMAGE = "image"


class Fetching(AgentMessage, frozen=True):
    """What is on its way to the node before the attempt's program begins, and how far it is."""

    kind: Fetched
    done_bytes: Count | None = None
    size_bytes: Count | None = None


class AttemptReport(AgentMessage, frozen=True):
    """Ages instead of times: a node's wall clock may be wrong by an hour."""

    attempt_id: Id
    fence: Fence
    state: State
    ran_s: Seconds = 0.0
    end: End | None = None
    exit_code: ExitCode | None = None
    signal: Signal | None = None
    ended_age_s: Seconds | None = None
    detail: Detail = ""
    progress_step: Count | None = None
    checkpoint_step: Count | None = None
    checkpoint_age_s: Seconds | None = None
    log_bytes_dropped: Count = 0
    energy: Annotated[tuple[AttemptEnergy, ...], Meta(max_length=MAX_GPUS)] = ()
    speed: Speed | None = None
    out_of_memory: bool = False  # the kernel ended a process of it for its memory limit
    failed_rank: Annotated[int, Meta(ge=0, le=MAX_RANK)] | None = None  # whose exit code it is
    fetching: Fetching | None = None

    def __post_init__(self) -> None:
        if (self.state is State.ENDED) != (self.end is not None):
            raise WireError("/end", "given exactly when the state is ended")

    @property
    def ref(self) -> AttemptRef:
        return AttemptRef(self.attempt_id, self.fence)


class GpuStatus(AgentMessage, frozen=True):
    uuid: Uuid
    healthy: bool
    energy_mj: Millijoules | None = None  # null while the GPU cannot be read
    energy_method: EnergyMethod = EnergyMethod.COUNTER
    health_reason: Short = ""
    attempt_id: Id | None = None
    clock_mhz: Megahertz | None = None  # the lock, not the reading
    power_cap_w: Watts | None = None
    control_refusal: Short = ""  # what the driver said when it refused a clock or a cap
    foreign_pids: Annotated[tuple[Count, ...], Meta(max_length=64)] = ()


class Sync(AgentMessage, frozen=True):
    """`sequence` grows with every sync of an epoch: a late one is answered, not applied."""

    epoch: Id
    sequence: Count
    boot_id: BootId
    attempts: Annotated[tuple[AttemptReport, ...], Meta(max_length=MAX_ATTEMPTS)] = ()
    gpus: Annotated[tuple[GpuStatus, ...], Meta(max_length=MAX_GPUS)] = ()
    samples_shed: Count = 0
    power: Power = Power.ON

    def __post_init__(self) -> None:
        if len({report.attempt_id for report in self.attempts}) != len(self.attempts):
            raise WireError("/attempts", "one attempt stands twice")
        if len({gpu.uuid for gpu in self.gpus}) != len(self.gpus):
            raise WireError("/gpus", "one uuid stands twice")


class Gang(ServiceMessage, frozen=True):
    """This node's part: processes `first_rank` … `first_rank + local_world_size - 1`.

    Given with every attempt, also with one of a single process: RANK and its like are always set.
    """

    first_rank: Annotated[int, Meta(ge=0, le=MAX_RANK)]
    world_size: Annotated[int, Meta(ge=1, le=MAX_RANK)]
    local_world_size: Annotated[int, Meta(ge=1, le=256)]
    node_rank: Annotated[int, Meta(ge=0, le=2**16)]
    nodes: Annotated[int, Meta(ge=1, le=2**16)]
    master_address: Annotated[str, text(255, r"[A-Za-z0-9.:_-]+")]
    master_port: Annotated[int, Meta(ge=1, le=65535)]

    def __post_init__(self) -> None:
        if self.first_rank + self.local_world_size > self.world_size:
            raise WireError("/first_rank", "ranks reach past world_size")
        if self.node_rank >= self.nodes:
            raise WireError("/node_rank", "not below nodes")


class DesiredAttempt(ServiceMessage, frozen=True):
    attempt_id: Id
    fence: Fence
    job_id: Id
    argv: Annotated[tuple[Argument, ...], Meta(min_length=1, max_length=MOST_ARGUMENTS)]
    gpu_uuids: Annotated[tuple[Uuid, ...], Meta(min_length=1, max_length=MAX_GPUS)]
    cpus: Cpus  # how many; the agent picks which, near the GPUs; 0: whatever others leave
    memory_mib: Mebibytes  # 0: no limit
    checkpoint_key: Key  # the same for every attempt of a job
    env: Annotated[dict[EnvName, Argument], Meta(max_length=1024)] = field(default_factory=dict)
    image: Annotated[str, text(LONGEST_IMAGE, IMAGE)] | None = None
    clock_mhz: Megahertz | None = None
    power_cap_w: Watts | None = None
    gang: Gang | None = None
    grace_s: Annotated[float, Meta(ge=0, le=3600)] = 30.0
    log_cap_bytes: Annotated[int, Meta(ge=0, le=2**32)] = 16 * 2**20  # of each stream
    run_lease_s: Lease | None = None  # how long it may live unheard; null: the answer's own
    tenant_id: Id | None = None  # one uid per tenant; null: of an older service
    processes: Processes = Processes.ONE
    workdir: Workdir | None = None
    mounts: Annotated[tuple[Mount, ...], Meta(max_length=MOST_MOUNTS)] = ()
    artifacts: Annotated[tuple[ArtifactPath, ...], Meta(max_length=MOST_ARTIFACTS)] = ()
    # Like `env`: in every answer until the attempt is reported as running, and never journalled.
    secrets: Annotated[tuple[SecretValue, ...], Meta(max_length=MOST_SECRETS)] = ()
    time_limit_s: Annotated[float, Meta(ge=0.1, le=10**9)] | None = None  # of this attempt
    pids_limit: Annotated[int, Meta(ge=0, le=2**22)] = 0  # processes and threads; 0: no limit
    scratch_mib: Mebibytes = 0  # of the working directory and its own /tmp; 0: no limit
    network: bool = True

    def __post_init__(self) -> None:
        if not self.argv[0]:
            raise WireError("/argv/0", "empty")
        if len(set(self.gpu_uuids)) != len(self.gpu_uuids):
            raise WireError("/gpu_uuids", "one uuid stands twice")

    @property
    def ref(self) -> AttemptRef:
        return AttemptRef(self.attempt_id, self.fence)


class Cancel(ServiceMessage, frozen=True):
    """Why an attempt that runs here is no longer wanted, and how long it may take to leave."""

    attempt_id: Id
    fence: Fence
    reason: Short
    grace_s: Annotated[float, Meta(ge=0, le=3600)] | None = None  # null: the attempt's own


class Desired(ServiceMessage, frozen=True):
    """All that should run on the node: what runs and is not listed is stopped.

    `acks` name the ended attempts the service has recorded; the agent reports each until then.
    `run_lease_s` is the shortest of its attempts' leases, for agents that know no others.
    """

    next_sync_s: Interval
    node_lease_s: Lease
    run_lease_s: Lease
    attempts: Annotated[tuple[DesiredAttempt, ...], Meta(max_length=MAX_ATTEMPTS)] = ()
    cancels: Annotated[tuple[Cancel, ...], Meta(max_length=MAX_ATTEMPTS)] = ()
    acks: Annotated[tuple[AttemptRef, ...], Meta(max_length=MAX_ATTEMPTS)] = ()
    discard_checkpoints: Annotated[tuple[Key, ...], Meta(max_length=1024)] = ()
    sample_interval_s: Annotated[float, Meta(ge=0.05, le=3600)] = 1.0
    upload_interval_s: Interval = 5.0  # of telemetry
    power_on: bool = True  # false: the node is to be off; a real one is switched by the site

    def __post_init__(self) -> None:
        if len({attempt.attempt_id for attempt in self.attempts}) != len(self.attempts):
            raise WireError("/attempts", "one attempt stands twice")
        held = [uuid for attempt in self.attempts for uuid in attempt.gpu_uuids]
        if len(set(held)) != len(held):
            raise WireError("/attempts", "one GPU is wanted by two attempts")


class Code(StrEnum):
    """The two refusals an agent acts upon, as the `code` of a problem document."""

    STALE_EPOCH = "stale_epoch"  # another agent has registered as this node: stop all and leave
    STALE_FENCE = "stale_fence"  # the attempts in `stale` are no longer this node's: kill them


class ReportedProblem(ServiceMessage, frozen=True):
    """Whatever else the problem document says is for people."""

    code: Short = ""
    title: Short = ""
    detail: Detail = ""
    stale: Annotated[tuple[AttemptRef, ...], Meta(max_length=MAX_ATTEMPTS)] = ()
