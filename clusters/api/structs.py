"""Shapes of clusters, their topology, hardware, join tokens and policies."""

from decimal import Decimal
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from agent.wire.bounds import ABSOLUTE_PATH, LONGEST_PATH
from clusters.api.parameters import PARAMETERS
from clusters.models import Cluster, Node
from clusters.models.hardware import GPU_TYPE
from policies import registry
from rest.names import HOST
from rest.structs import (
    From,
    Id,
    Input,
    Instant,
    Output,
    Version,
    amount,
    json_object,
    matching,
    one_of,
    patch_of,
    text,
)
from tariffs.api.structs import Currency, Name, SeriesName, TariffName

PolicyName = Annotated[str, one_of(registry.policy_names(), name="PolicyName")]
INT32_MAX = 2**31 - 1
MAX_GPUS = 64
MAX_MEMORY_MIB = 2**26
# A petawatt-hour, which floats count exactly.
MAX_ENERGY_WH = 10**15
GPU_UUID = "^[A-Za-z0-9][A-Za-z0-9-]{0,95}$"
_PERIOD_BEGIN = "Begins at midnight in the time zone of the tariff, or UTC."

# What is not given has the policy's default; the service refuses what the policy does not have.
PolicyParameters = Annotated[dict[str, Any], json_object(PARAMETERS, example={})]
ClusterName = Annotated[Name, Meta(examples=["berlin"])]
PartitionName = Annotated[Name, Meta(examples=["prod"])]
SwitchName = Annotated[Name, Meta(examples=["leaf-1"])]
RackName = Annotated[Name, Meta(examples=["r12"])]
HostName = Annotated[str, matching(HOST, max_length=253, example="node-09.berlin")]
GpuTypeName = Annotated[str, matching(GPU_TYPE, max_length=64, example="A100")]
GpuUuid = Annotated[
    str, matching(GPU_UUID, max_length=96, example="GPU-5f1c2a8e-77aa-4b0c-9d3e-2f6f0b1c4d5e")
]
Watts = Annotated[int, Meta(ge=0, le=10_000)]
Reason = Annotated[str, text(200, blank=True)]

_ActivePolicy = Annotated[PolicyName, Meta(examples=["priority"])]
_ActiveParameters = Annotated[PolicyParameters, Meta(examples=[{"ageing_s": 1800}])]
_ShadowPolicy = Annotated[PolicyName, Meta(examples=["fifo-backfill"])]
_RoundInterval = Annotated[int, Meta(ge=1, le=3600, examples=[30])]
# Power usage effectiveness.
_Pue = Annotated[
    Decimal, amount(4, 2, pattern=r"^([1-9](\.\d{1,2})?|10(\.0{1,2})?)$", example="1.20")
]
_PowerBudget = Annotated[int, Meta(ge=1, le=INT32_MAX, examples=[250_000])]
_EnergyBudget = Annotated[
    int,
    Meta(
        ge=1,
        le=MAX_ENERGY_WH,
        examples=[4_000_000],
        description="May be drawn in every energy_period, PUE included.",
    ),
]
_EnergyPeriod = Annotated[Cluster.EnergyPeriod, Meta(description=_PERIOD_BEGIN, examples=["day"])]

_PowerOff = Annotated[
    bool,
    Meta(
        description="Whether policies may switch off nodes; queued work wakes them in any case.",
        examples=[False],
    ),
]
_MinIdle = Annotated[
    int,
    Meta(
        ge=0,
        le=7 * 86_400,
        description="Seconds for which a node must have been ready and empty before it goes off.",
        examples=[600],
    ),
]
_Exclusive = Annotated[
    bool,
    Meta(
        description="Whether a node is one tenant's at a time. Nodes without a wall always are.",
        examples=[False],
    ),
]
_Network = Annotated[
    bool, Meta(description="Whether attempts may use the network.", examples=[True])
]
_MaxTardinessPrice = Annotated[
    Decimal,
    amount(
        14,
        6,
        pattern=r"^(0|[1-9][0-9]{0,7})(\.[0-9]{1,6})?$",
        example="0.100000",
        description="The most that jobs may name as tardiness_price_per_h, unless their tenant has "
        "a bound of its own.",
    ),
]


class ClusterOut(Output, frozen=True):
    id: Id
    name: ClusterName
    policy: Annotated[str, Meta(examples=["priority"])]
    policy_parameters: _ActiveParameters
    shadow_policy: Annotated[str | None, Meta(examples=["fifo-backfill"])]
    shadow_parameters: PolicyParameters
    round_interval_s: _RoundInterval
    pue: _Pue
    power_budget_w: _PowerBudget | None
    energy_budget_wh: _EnergyBudget | None
    energy_period: _EnergyPeriod | None
    power_off: _PowerOff
    min_idle_s: _MinIdle
    exclusive: _Exclusive
    network: _Network
    currency: Currency
    max_tardiness_price_per_h: _MaxTardinessPrice
    tariff: Annotated[TariffName | None, From("tariff.name")]
    carbon_series: Annotated[SeriesName | None, From("carbon_series.name")]
    brake_since_at: Annotated[
        Instant | None,
        Meta(
            description="Since when most nodes are silent, so that none is marked lost.",
            examples=[None],
        ),
    ]
    version: Version
    created_at: Instant
    updated_at: Instant


class ClusterCreate(Input, frozen=True):
    name: ClusterName
    policy: _ActivePolicy | UnsetType = UNSET
    policy_parameters: _ActiveParameters | UnsetType = UNSET
    shadow_policy: _ShadowPolicy | UnsetType | None = UNSET
    shadow_parameters: PolicyParameters | UnsetType = UNSET
    round_interval_s: _RoundInterval | UnsetType = UNSET
    pue: _Pue | UnsetType = UNSET
    power_budget_w: _PowerBudget | UnsetType | None = UNSET
    energy_budget_wh: _EnergyBudget | UnsetType | None = UNSET
    energy_period: _EnergyPeriod | UnsetType | None = UNSET
    power_off: _PowerOff | UnsetType = UNSET
    min_idle_s: _MinIdle | UnsetType = UNSET
    exclusive: _Exclusive | UnsetType = UNSET
    network: _Network | UnsetType = UNSET
    currency: Currency | UnsetType = UNSET
    max_tardiness_price_per_h: _MaxTardinessPrice | UnsetType = UNSET
    tariff: TariffName | UnsetType | None = UNSET
    carbon_series: SeriesName | UnsetType | None = UNSET


ClusterPatch = patch_of(ClusterCreate, "ClusterPatch")


class PartitionOut(Output, frozen=True):
    id: Id
    cluster: Annotated[ClusterName, From("cluster.name")]
    name: PartitionName
    lends: Annotated[bool, Meta(examples=[True])]
    version: Version
    created_at: Instant


class PartitionCreate(Input, frozen=True):
    cluster: ClusterName
    name: PartitionName
    lends: Annotated[bool | UnsetType, Meta(examples=[True])] = UNSET


PartitionPatch = patch_of(PartitionCreate, "PartitionPatch", omit={"cluster"})


class SwitchOut(Output, frozen=True):
    id: Id
    cluster: Annotated[ClusterName, From("cluster.name")]
    name: SwitchName
    version: Version


class SwitchCreate(Input, frozen=True):
    cluster: ClusterName
    name: SwitchName


SwitchPatch = patch_of(SwitchCreate, "SwitchPatch", omit={"cluster"})


class RackOut(Output, frozen=True):
    id: Id
    cluster: Annotated[ClusterName, From("cluster.name")]
    name: RackName
    switch: Annotated[SwitchName | None, From("switch.name")]
    version: Version


class RackCreate(Input, frozen=True):
    cluster: ClusterName
    name: RackName
    switch: SwitchName | UnsetType | None = UNSET


RackPatch = patch_of(RackCreate, "RackPatch", omit={"cluster"})

_Path = Annotated[
    str,
    matching(
        rf"^{ABSOLUTE_PATH}$",
        max_length=LONGEST_PATH,
        example="/srv/datasets",
        description="Where every node of the cluster has it.",
    ),
]
VolumeName = Annotated[Name, Meta(examples=["datasets"])]
_ReadOnly = Annotated[bool, Meta(description="Whether jobs can only read it.", examples=[True])]
_Everyone = Annotated[bool, Meta(description="Whether every tenant may mount it.", examples=[True])]
_Tenants = Annotated[
    list[Annotated[Name, Meta(examples=["vision-lab"])]],
    Meta(max_length=1000, description="Who may mount it, unless everyone may.", examples=[[]]),
]


class VolumeOut(Output, frozen=True):
    """`tenants` are shown to operators only."""

    id: Id
    cluster: Annotated[ClusterName, From("cluster.name")]
    name: VolumeName
    path: _Path
    read_only: _ReadOnly
    everyone: _Everyone
    tenants: _Tenants | None
    version: Version
    created_at: Instant


class VolumeCreate(Input, frozen=True):
    cluster: ClusterName
    name: VolumeName
    path: _Path
    read_only: _ReadOnly = True
    everyone: _Everyone = False
    tenants: _Tenants = []


VolumePatch = patch_of(VolumeCreate, "VolumePatch", omit={"cluster", "name"})

_GpuMemory = Annotated[int, Meta(ge=1, le=2**24, examples=[81_920])]
_IdleWatts = Annotated[Watts, Meta(examples=[60])]
_MaxWatts = Annotated[int, Meta(ge=1, le=10_000, examples=[400])]
_Clock = Annotated[int, Meta(ge=1, le=20_000)]
_Clocks = Annotated[list[_Clock], Meta(max_length=1024, examples=[[705, 1095, 1410]])]


class GpuTypeOut(Output, frozen=True):
    id: Id
    name: GpuTypeName
    memory_mib: _GpuMemory
    idle_w: _IdleWatts
    max_w: _MaxWatts
    clocks_mhz: _Clocks
    version: Version


class GpuTypeCreate(Input, frozen=True):
    name: GpuTypeName
    memory_mib: _GpuMemory
    idle_w: _IdleWatts
    max_w: _MaxWatts
    clocks_mhz: _Clocks | UnsetType = UNSET


GpuTypePatch = patch_of(GpuTypeCreate, "GpuTypePatch", omit={"name"})

_Healthy = Annotated[bool, Meta(examples=[True])]
_Said = Annotated[str, Meta(examples=[""])]
_Remark = Annotated[_Said, Meta(description="Seen in telemetry, such as a clock that it ignores.")]
_Index = Annotated[int, Meta(examples=[0])]


class NodeGpuOut(Output, frozen=True):
    id: Id
    index: _Index
    uuid: GpuUuid
    healthy: _Healthy
    health_reason: _Said
    fault: _Said
    remark: _Remark


_Cpus = Annotated[int, Meta(ge=1, le=4096, examples=[64])]
_NodeMemory = Annotated[int, Meta(ge=1, le=MAX_MEMORY_MIB, examples=[524_288])]
_HostIdle = Annotated[Watts, Meta(examples=[180])]
_HostPeak = Annotated[Watts, Meta(examples=[700])]


class NodeOut(Output, frozen=True):
    """A node with its GPUs; use, sync and faults move without a new version."""

    id: Id
    cluster: Annotated[ClusterName, From("cluster.name")]
    name: HostName
    partition: Annotated[PartitionName | None, From("partition.name")]
    rack: Annotated[RackName | None, From("rack.name")]
    gpu_type: Annotated[GpuTypeName, From("gpu_type.name")]
    state: Annotated[Node.State, Meta(examples=["ready"])]
    state_reason: _Said
    cpus: _Cpus
    cpus_used: Annotated[int, Meta(examples=[16])]
    memory_mib: _NodeMemory
    memory_used_mib: Annotated[int, Meta(examples=[131_072])]
    host_idle_w: _HostIdle
    host_peak_w: _HostPeak
    driver: Annotated[str, Meta(examples=["570.86.15"])]
    agent_version: Annotated[str, Meta(examples=["0.1.0"])]
    container_tool: Annotated[
        str, Meta(description="What runs images here; empty: nothing.", examples=["podman"])
    ]
    wall: Annotated[
        Node.Wall,
        Meta(
            description="What keeps tenants apart here; with none it is one tenant's at a time.",
            examples=["namespaces"],
        ),
    ]
    workloads: Annotated[
        bool, Meta(description="Whether its agent knows code, volumes, secrets and limits.")
    ]
    git: Annotated[
        bool, Meta(description="Whether it brings working directories from git.", examples=[True])
    ]
    last_sync_at: Instant | None
    gpus: Annotated[list[NodeGpuOut], From("gpu_set")]
    version: Version
    created_at: Instant
    updated_at: Instant


class NodeCreate(Input, frozen=True):
    """`state` is `ready` for a node that may have work at once; its agent makes it so otherwise."""

    cluster: ClusterName
    name: HostName
    gpu_type: GpuTypeName
    cpus: _Cpus
    memory_mib: _NodeMemory
    gpu_count: Annotated[int, Meta(ge=1, le=MAX_GPUS, examples=[1])]
    gpu_uuids: Annotated[list[GpuUuid], Meta(min_length=1, max_length=MAX_GPUS)] | UnsetType = UNSET
    state: Annotated[Literal["joining", "ready"] | UnsetType, Meta(examples=["ready"])] = UNSET
    partition: PartitionName | UnsetType | None = UNSET
    rack: RackName | UnsetType | None = UNSET
    host_idle_w: _HostIdle | UnsetType = UNSET
    host_peak_w: _HostPeak | UnsetType = UNSET


NodePatch = patch_of(
    NodeCreate,
    "NodePatch",
    omit={"cluster", "name", "gpu_type", "gpu_count", "gpu_uuids", "state"},
)


class NodeDrain(Input, frozen=True):
    reason: Annotated[Reason, Meta(examples=["new fans"])] = ""


class GpuOut(Output, frozen=True):
    """`healthy` is an operator's word, `fault` the agent's finding; either keeps new work away."""

    id: Id
    cluster: Annotated[ClusterName, From("node.cluster.name")]
    node_id: Id
    node: Annotated[HostName, From("node.name")]
    gpu_type: Annotated[GpuTypeName, From("node.gpu_type.name")]
    index: _Index
    uuid: GpuUuid
    healthy: _Healthy
    health_reason: _Said
    fault: _Said
    remark: _Remark
    version: Version


class GpuPatch(Input, frozen=True):
    healthy: Annotated[bool | UnsetType, Meta(examples=[False])] = UNSET
    health_reason: Annotated[Reason | UnsetType, Meta(examples=["uncorrectable memory errors"])] = (
        UNSET
    )


class JoinTokenOut(Output, frozen=True):
    id: Id
    cluster: Annotated[ClusterName, From("cluster.name")]
    partition: Annotated[PartitionName | None, From("partition.name")]
    rack: Annotated[RackName | None, From("rack.name")]
    prefix: Annotated[str, Meta(examples=["fw_j_Q2xhdWRp"])]
    created_at: Instant
    expires_at: Annotated[Instant, Meta(examples=["2026-02-01T08:00:00Z"])]
    used_at: Annotated[Instant | None, Meta(examples=[None])]
    used_by_node_id: Annotated[Id | None, From("used_by_id"), Meta(examples=[None])]
    revoked_at: Annotated[Instant | None, Meta(examples=[None])]


class JoinTokenWithSecret(JoinTokenOut, frozen=True):
    """`secret` is shown once; a replayed answer has null in its place."""

    secret: Annotated[str | None, Meta(examples=["fw_j_" + "x" * 43])]


class JoinTokenCreate(Input, frozen=True):
    cluster: ClusterName
    partition: PartitionName | UnsetType | None = UNSET
    rack: RackName | UnsetType | None = UNSET
    lifetime_s: Annotated[int, Meta(ge=60, le=30 * 86_400, examples=[86_400])] = 86_400


class PolicyOut(Output, frozen=True):
    """`promises` and `parameters` are those of the policy with its default parameters."""

    name: Annotated[str, Meta(examples=["fifo"])]
    summary: Annotated[str, Meta(examples=[registry.summary("fifo")])]
    promises: Annotated[list[str], Meta(examples=[[]])]
    parameters: Annotated[
        dict[str, Any],
        json_object(
            description="JSON schema of the parameters, with defaults.",
            example=registry.parameter_schema("fifo"),
        ),
    ]


class PolicyListOut(Output, frozen=True):
    """All of them on one page."""

    items: list[PolicyOut]
    next: Annotated[str | None, Meta(examples=[None])]
