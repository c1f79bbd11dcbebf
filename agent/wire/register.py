"""Joining: what a node is, and what the service gives it in return."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from agent.wire.bounds import (
    MAX_GPUS,
    BootId,
    Cpus,
    Id,
    Interval,
    Lease,
    Mebibytes,
    Megahertz,
    Short,
    Slug,
    Token,
    TypeName,
    Uuid,
    Watts,
)
from agent.wire.message import AgentMessage, ServiceMessage, WireError

NODE_TOKEN_PREFIX = "fw_n_"  # noqa: S105 - a prefix, not a secret


class MemoryLimit(StrEnum):
    CGROUP = "cgroup"  # holds for the attempt as a whole
    RLIMIT = "rlimit"  # holds for each process by itself


class EnergyMethod(StrEnum):
    COUNTER = "counter"
    INTEGRATED = "integrated"


class ContainerTool(StrEnum):
    PODMAN = "podman"
    DOCKER = "docker"
    APPTAINER = "apptainer"
    ENROOT = "enroot"


class Wall(StrEnum):
    """What keeps attempts of two tenants apart on one node."""

    NONE = "none"  # nothing: the service places one tenant at a time here
    UID = "uid"  # a user of its own for each tenant
    NAMESPACES = "namespaces"  # that, and mounts, processes and ipc of its own


class Features(AgentMessage, frozen=True):
    """What was tried on this host and works; `notes` say why something does not."""

    cgroup: bool
    bubblewrap: bool
    affinity: bool
    memory_limit: MemoryLimit
    containers: ContainerTool | None = None
    clocks: bool = False
    power_caps: bool = False
    memory_in_place: bool = False  # whether a running attempt can be given more memory
    wall: Wall = Wall.NONE
    # Whether the agent knows workdir, mounts, artifacts, secrets, processes and limits at all.
    workloads: bool = False
    git: bool = False  # whether working directories can come from git; an older agent says nothing
    notes: Annotated[tuple[Short, ...], Meta(max_length=32)] = ()


class GpuInventory(AgentMessage, frozen=True):
    uuid: Uuid
    index: Annotated[int, Meta(ge=0, le=MAX_GPUS - 1)]
    type_name: TypeName
    memory_mib: Annotated[int, Meta(ge=1, le=2**24)]
    max_w: Annotated[int, Meta(ge=1, le=10_000)]
    # Read while nothing ran; 0 where a process was on the GPU when the agent started.
    idle_w: Watts = 0
    min_cap_w: Watts = 0
    clocks_mhz: Annotated[tuple[Megahertz, ...], Meta(max_length=1024)] = ()
    energy_method: EnergyMethod = EnergyMethod.COUNTER
    numa_node: Annotated[int, Meta(ge=0, le=1023)] | None = None
    pci_bus_id: Short = ""

    def __post_init__(self) -> None:
        if self.idle_w > self.max_w:
            raise WireError("/idle_w", "above max_w")
        if list(self.clocks_mhz) != sorted(set(self.clocks_mhz)):
            raise WireError("/clocks_mhz", "not ascending")


class NumaNode(AgentMessage, frozen=True):
    node: Annotated[int, Meta(ge=0, le=1023)]
    cpus: Annotated[tuple[Cpus, ...], Meta(max_length=4096)]
    memory_mib: Mebibytes


class Inventory(AgentMessage, frozen=True):
    name: Slug
    address: Short  # where other nodes of a gang reach this one
    agent_version: Short
    driver: Short
    boot_id: BootId
    cpus: Annotated[int, Meta(ge=1, le=4096)]
    memory_mib: Annotated[int, Meta(ge=1, le=2**26)]
    gpus: Annotated[tuple[GpuInventory, ...], Meta(max_length=MAX_GPUS)]
    features: Features
    numa: Annotated[tuple[NumaNode, ...], Meta(max_length=1024)] = ()
    host_idle_w: Watts | None = None
    host_peak_w: Watts | None = None

    def __post_init__(self) -> None:
        if len({gpu.uuid for gpu in self.gpus}) != len(self.gpus):
            raise WireError("/gpus", "one uuid stands twice")
        if len({gpu.index for gpu in self.gpus}) != len(self.gpus):
            raise WireError("/gpus", "one index stands twice")
        idle_w, peak_w = self.host_idle_w or 0, self.host_peak_w
        if peak_w is not None and idle_w > peak_w:
            raise WireError("/host_idle_w", "above host_peak_w")


class Register(AgentMessage, frozen=True):
    """Sent at every start of an agent: with a join token once, then under its node token.

    `install_id` is made before the first try: the same join token with the same install id is
    answered again, so that a lost answer does not strand the node.
    """

    install_id: Token
    inventory: Inventory
    join_token: Token | None = None


class Registered(ServiceMessage, frozen=True):
    """Every registration raises the epoch; whoever still speaks under an older one is fenced."""

    node_id: Id
    epoch: Id
    next_sync_s: Interval
    sample_interval_s: Annotated[float, Meta(ge=0.05, le=3600)]
    upload_interval_s: Interval
    node_lease_s: Lease
    run_lease_s: Lease
    node_token: Token | None = None  # absent when the agent already has one
