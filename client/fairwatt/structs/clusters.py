"""Clusters, their machines, and the policies that place jobs on them."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from msgspec import Struct

from fairwatt.structs.words import NodeState


class Cluster(Struct, frozen=True):
    """One scheduling domain."""

    id: int
    name: str
    policy: str
    policy_parameters: dict[str, Any]
    shadow_policy: str | None
    shadow_parameters: dict[str, Any]
    round_interval_s: int
    pue: Decimal
    power_budget_w: int | None
    energy_budget_wh: int | None
    energy_period: str | None
    power_off: bool
    min_idle_s: int
    currency: str
    max_tardiness_price_per_h: Decimal
    tariff: str | None
    carbon_series: str | None
    brake_since_at: datetime | None
    version: int
    created_at: datetime
    updated_at: datetime


class NodeGpu(Struct, frozen=True):
    """A GPU of a node."""

    id: int
    index: int
    uuid: str
    healthy: bool
    health_reason: str
    fault: str
    remark: str


class Node(Struct, frozen=True):
    """A machine with GPUs of one type."""

    id: int
    cluster: str
    name: str
    partition: str | None
    rack: str | None
    gpu_type: str
    state: NodeState
    state_reason: str
    cpus: int
    cpus_used: int
    memory_mib: int
    memory_used_mib: int
    host_idle_w: int
    host_peak_w: int
    driver: str
    agent_version: str
    last_sync_at: datetime | None
    gpus: list[NodeGpu]
    version: int
    created_at: datetime
    updated_at: datetime


class GpuType(Struct, frozen=True):
    """A type of GPU."""

    id: int
    name: str
    memory_mib: int
    idle_w: int
    max_w: int
    clocks_mhz: list[int]
    version: int


class JoinToken(Struct, frozen=True):
    """Lets one machine join a cluster; `secret` is shown once."""

    id: int
    cluster: str
    partition: str | None
    rack: str | None
    prefix: str
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None
    used_by_node_id: int | None
    revoked_at: datetime | None
    secret: str | None


class Policy(Struct, frozen=True):
    """How jobs are placed: what it promises and takes."""

    name: str
    summary: str
    promises: list[str]
    parameters: dict[str, Any]


class Round(Struct, frozen=True):
    """One run of a policy."""

    id: int
    cluster: str
    policy: str
    parameters: dict[str, Any]
    seed: int
    status: str
    error: str
    started_at: datetime
    load_ms: float
    plan_ms: float
    check_ms: float
    apply_ms: float
    queued: int
    running: int
    started: int
    preempted: int
    moved: int
    resized: int
    switched: int
    waiting: int
    stale: int
    objective: float | None
    bound: float | None
    gap: float | None
    shown: dict[str, Any]
    snapshot_digest: str
    plan_digest: str
    shadow_policy: str | None
    shadow_ms: float | None
