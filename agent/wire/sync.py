"""The heartbeat: what runs and how the GPUs are, against what should run."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from agent.wire.bounds import (
    MAX_ATTEMPTS,
    MAX_GPUS,
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
)
from agent.wire.codec import Items, Pairs, Range, Text, WireError
from agent.wire.register import EnergyMethod


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


class Power(StrEnum):
    """Of the node itself; one that can speak while it is off is an emulated one."""

    ON = "on"
    BOOTING = "booting"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class AttemptRef:
    attempt_id: Id
    fence: Fence


@dataclass(frozen=True, slots=True)
class AttemptEnergy:
    """The counter when the attempt took the GPU, and now (or when it left the GPU)."""

    uuid: Uuid
    start_mj: Millijoules
    now_mj: Millijoules
    method: EnergyMethod = EnergyMethod.COUNTER

    def __post_init__(self) -> None:
        if self.now_mj < self.start_mj:
            raise WireError("/now_mj", "below start_mj")


@dataclass(frozen=True, slots=True)
class Speed:
    """What was measured since the attempt settled at this clock (null: unlocked) and CPU count.

    `energy_mj` and `energy_s` add up its GPUs on the node: their quotient is one GPU's mean power.
    """

    steps: Count
    steps_s: Seconds
    energy_mj: Millijoules = 0
    energy_s: Seconds = 0.0
    clock_mhz: Megahertz | None = None
    cpus: Cpus = 0


@dataclass(frozen=True, slots=True)
class AttemptReport:
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
    energy: Annotated[tuple[AttemptEnergy, ...], Items(MAX_GPUS)] = ()
    speed: Speed | None = None

    def __post_init__(self) -> None:
        if (self.state is State.ENDED) != (self.end is not None):
            raise WireError("/end", "given exactly when the state is ended")

    @property
    def ref(self) -> AttemptRef:
        return AttemptRef(self.attempt_id, self.fence)


@dataclass(frozen=True, slots=True)
class GpuStatus:
    uuid: Uuid
    healthy: bool
    energy_mj: Millijoules | None = None  # null while the GPU cannot be read
    energy_method: EnergyMethod = EnergyMethod.COUNTER
    health_reason: Short = ""
    attempt_id: Id | None = None
    clock_mhz: Megahertz | None = None  # the lock, not the reading
    power_cap_w: Watts | None = None
    control_refusal: Short = ""  # what the driver said when it refused a clock or a cap
    foreign_pids: Annotated[tuple[Count, ...], Items(64)] = ()


@dataclass(frozen=True, slots=True)
class Sync:
    """`sequence` grows with every sync of an epoch: a late one is answered, not applied."""

    epoch: Id
    sequence: Count
    boot_id: BootId
    attempts: Annotated[tuple[AttemptReport, ...], Items(MAX_ATTEMPTS)] = ()
    gpus: Annotated[tuple[GpuStatus, ...], Items(MAX_GPUS)] = ()
    samples_shed: Count = 0
    power: Power = Power.ON

    def __post_init__(self) -> None:
        if len({report.attempt_id for report in self.attempts}) != len(self.attempts):
            raise WireError("/attempts", "one attempt stands twice")
        if len({gpu.uuid for gpu in self.gpus}) != len(self.gpus):
            raise WireError("/gpus", "one uuid stands twice")


@dataclass(frozen=True, slots=True)
class Gang:
    """This node's part: processes `first_rank` … `first_rank + local_world_size - 1`."""

    first_rank: Annotated[int, Range(0, 2**20)]
    world_size: Annotated[int, Range(1, 2**20)]
    local_world_size: Annotated[int, Range(1, 256)]
    node_rank: Annotated[int, Range(0, 2**16)]
    nodes: Annotated[int, Range(1, 2**16)]
    master_address: Annotated[str, Text(255, r"[A-Za-z0-9.:_-]+")]
    master_port: Annotated[int, Range(1, 65535)]

    def __post_init__(self) -> None:
        if self.first_rank + self.local_world_size > self.world_size:
            raise WireError("/first_rank", "ranks reach past world_size")
        if self.node_rank >= self.nodes:
            raise WireError("/node_rank", "not below nodes")


@dataclass(frozen=True, slots=True)
class DesiredAttempt:
    attempt_id: Id
    fence: Fence
    job_id: Id
    argv: Annotated[tuple[Annotated[str, Text(32_768)], ...], Items(1024, 1)]
    gpu_uuids: Annotated[tuple[Uuid, ...], Items(MAX_GPUS, 1)]
    cpus: Cpus  # how many; the agent picks which, near the GPUs; 0: whatever others leave
    memory_mib: Mebibytes  # 0: no limit
    checkpoint_key: Key  # the same for every attempt of a job
    env: Annotated[
        dict[str, str], Pairs(1024, Text(256, r"[A-Za-z_][A-Za-z0-9_]*"), Text(32_768))
    ] = field(default_factory=dict)
    image: Annotated[str, Text(512, r"[A-Za-z0-9][A-Za-z0-9._:/@-]*")] | None = None
    clock_mhz: Megahertz | None = None
    power_cap_w: Watts | None = None
    gang: Gang | None = None
    grace_s: Annotated[float, Range(0, 3600)] = 30.0
    log_cap_bytes: Annotated[int, Range(0, 2**32)] = 16 * 2**20  # of each stream

    def __post_init__(self) -> None:
        if not self.argv[0]:
            raise WireError("/argv/0", "empty")
        if len(set(self.gpu_uuids)) != len(self.gpu_uuids):
            raise WireError("/gpu_uuids", "one uuid stands twice")

    @property
    def ref(self) -> AttemptRef:
        return AttemptRef(self.attempt_id, self.fence)


@dataclass(frozen=True, slots=True)
class Cancel:
    """Why an attempt that runs here is no longer wanted, and how long it may take to leave."""

    attempt_id: Id
    fence: Fence
    reason: Short
    grace_s: Annotated[float, Range(0, 3600)] | None = None  # null: the attempt's own


@dataclass(frozen=True, slots=True)
class Desired:
    """All that should run on the node: what runs and is not listed is stopped.

    `acks` name the ended attempts the service has recorded; the agent reports each until then.
    """

    next_sync_s: Interval
    node_lease_s: Lease
    run_lease_s: Lease
    attempts: Annotated[tuple[DesiredAttempt, ...], Items(MAX_ATTEMPTS)] = ()
    cancels: Annotated[tuple[Cancel, ...], Items(MAX_ATTEMPTS)] = ()
    acks: Annotated[tuple[AttemptRef, ...], Items(MAX_ATTEMPTS)] = ()
    discard_checkpoints: Annotated[tuple[Key, ...], Items(1024)] = ()
    sample_interval_s: Annotated[float, Range(0.05, 3600)] = 1.0
    upload_interval_s: Interval = 5.0  # of telemetry
    power_on: bool = True  # false: the node is to be off; a real one is switched by the site

    def __post_init__(self) -> None:
        if len({attempt.attempt_id for attempt in self.attempts}) != len(self.attempts):
            raise WireError("/attempts", "one attempt stands twice")
        held = [uuid for attempt in self.attempts for uuid in attempt.gpu_uuids]
        if len(set(held)) != len(held):
            raise WireError("/attempts", "one GPU is wanted by two attempts")
