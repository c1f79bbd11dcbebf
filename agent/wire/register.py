"""Joining: what a node is, and what the service gives it in return."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

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
from agent.wire.codec import Items, Range, WireError

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


@dataclass(frozen=True, slots=True)
class Features:
    """What was tried on this host and works; `notes` say why something does not."""

    cgroup: bool
    bubblewrap: bool
    affinity: bool
    memory_limit: MemoryLimit
    containers: ContainerTool | None = None
    clocks: bool = False
    power_caps: bool = False
    memory_in_place: bool = False  # whether a running attempt can be given more memory
    notes: Annotated[tuple[Short, ...], Items(32)] = ()


@dataclass(frozen=True, slots=True)
class GpuInventory:
    uuid: Uuid
    index: Annotated[int, Range(0, MAX_GPUS - 1)]
    type_name: TypeName
    memory_mib: Annotated[int, Range(1, 2**24)]
    max_w: Annotated[int, Range(1, 10_000)]
    # Read while nothing ran; 0 where a process was on the GPU when the agent started.
    idle_w: Watts = 0
    min_cap_w: Watts = 0
    clocks_mhz: Annotated[tuple[Megahertz, ...], Items(1024)] = ()
    energy_method: EnergyMethod = EnergyMethod.COUNTER
    numa_node: Annotated[int, Range(0, 1023)] | None = None
    pci_bus_id: Short = ""

    def __post_init__(self) -> None:
        if self.idle_w > self.max_w:
            raise WireError("/idle_w", "above max_w")
        if list(self.clocks_mhz) != sorted(set(self.clocks_mhz)):
            raise WireError("/clocks_mhz", "not ascending")


@dataclass(frozen=True, slots=True)
class NumaNode:
    node: Annotated[int, Range(0, 1023)]
    cpus: Annotated[tuple[Cpus, ...], Items(4096)]
    memory_mib: Mebibytes


@dataclass(frozen=True, slots=True)
class Inventory:
    name: Slug
    address: Short  # where other nodes of a gang reach this one
    agent_version: Short
    driver: Short
    boot_id: BootId
    cpus: Annotated[int, Range(1, 4096)]
    memory_mib: Annotated[int, Range(1, 2**26)]
    gpus: Annotated[tuple[GpuInventory, ...], Items(MAX_GPUS)]
    features: Features
    numa: Annotated[tuple[NumaNode, ...], Items(1024)] = ()
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


@dataclass(frozen=True, slots=True)
class Register:
    """Sent at every start of an agent: with a join token once, then under its node token.

    `install_id` is made before the first try: the same join token with the same install id is
    answered again, so that a lost answer does not strand the node.
    """

    install_id: Token
    inventory: Inventory
    join_token: Token | None = None


@dataclass(frozen=True, slots=True)
class Registered:
    """Every registration raises the epoch; whoever still speaks under an older one is fenced."""

    node_id: Id
    epoch: Id
    next_sync_s: Interval
    sample_interval_s: Annotated[float, Range(0.05, 3600)]
    upload_interval_s: Interval
    node_lease_s: Lease
    run_lease_s: Lease
    node_token: Token | None = None  # absent when the agent already has one
