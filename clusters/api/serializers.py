"""Shapes of clusters, their topology, hardware, join tokens and quotas."""

from clusters.api.fields import (
    GPU_UUID,
    INT32_MAX,
    Currency,
    GpuTypeName,
    HostName,
    Name,
    PolicyName,
    PolicyParameters,
    Pue,
    Reason,
    Watts,
)
from clusters.models import Cluster, Node
from rest import fields
from rest.serializers import StrictSerializer

MAX_GPUS = 64
MAX_MEMORY_MIB = 2**26
# A petawatt-hour, which floats count exactly.
MAX_ENERGY_WH = 10**15


class ClusterOut(StrictSerializer):
    id = fields.Integer()
    name = fields.Text()
    policy = fields.Text()
    policy_parameters = PolicyParameters()
    shadow_policy = fields.Text(allow_null=True)
    shadow_parameters = PolicyParameters()
    round_interval_s = fields.Integer()
    pue = Pue()
    power_budget_w = fields.Integer(allow_null=True)
    energy_budget_wh = fields.Integer(
        allow_null=True, help_text="May be drawn in every energy_period, PUE included."
    )
    energy_period = fields.Choice(Cluster.EnergyPeriod.choices, allow_null=True)
    currency = fields.Text()
    tariff = fields.Text(source="tariff.name", allow_null=True)
    carbon_series = fields.Text(source="carbon_series.name", allow_null=True)
    brake_since_at = fields.Instant(
        allow_null=True, help_text="Since when most nodes are silent, so that none is marked lost."
    )
    version = fields.Integer()
    created_at = fields.Instant()
    updated_at = fields.Instant()


class ClusterPatch(StrictSerializer):
    name = Name(required=False)
    policy = PolicyName(required=False)
    policy_parameters = PolicyParameters(required=False)
    shadow_policy = PolicyName(required=False, allow_null=True)
    shadow_parameters = PolicyParameters(required=False)
    round_interval_s = fields.Integer(min_value=1, max_value=3600, required=False)
    pue = Pue(required=False)
    power_budget_w = fields.Integer(
        min_value=1, max_value=INT32_MAX, required=False, allow_null=True
    )
    energy_budget_wh = fields.Integer(
        min_value=1, max_value=MAX_ENERGY_WH, required=False, allow_null=True
    )
    energy_period = fields.Choice(
        Cluster.EnergyPeriod.choices,
        required=False,
        allow_null=True,
        help_text="Begins at midnight in the time zone of the tariff, or UTC.",
    )
    currency = Currency(required=False)
    tariff = Name(required=False, allow_null=True)
    carbon_series = Name(required=False, allow_null=True)


class ClusterCreate(ClusterPatch):
    name = Name()


class PartitionOut(StrictSerializer):
    id = fields.Integer()
    cluster = fields.Text(source="cluster.name")
    name = fields.Text()
    lends = fields.Boolean()
    version = fields.Integer()
    created_at = fields.Instant()


class PartitionCreate(StrictSerializer):
    cluster = Name()
    name = Name()
    lends = fields.Boolean(required=False)


class PartitionPatch(StrictSerializer):
    name = Name(required=False)
    lends = fields.Boolean(required=False)


class SwitchOut(StrictSerializer):
    id = fields.Integer()
    cluster = fields.Text(source="cluster.name")
    name = fields.Text()
    version = fields.Integer()


class SwitchCreate(StrictSerializer):
    cluster = Name()
    name = Name()


class SwitchPatch(StrictSerializer):
    name = Name(required=False)


class RackOut(StrictSerializer):
    id = fields.Integer()
    cluster = fields.Text(source="cluster.name")
    name = fields.Text()
    switch = fields.Text(source="switch.name", allow_null=True)
    version = fields.Integer()


class RackCreate(StrictSerializer):
    cluster = Name()
    name = Name()
    switch = Name(required=False, allow_null=True)


class RackPatch(StrictSerializer):
    name = Name(required=False)
    switch = Name(required=False, allow_null=True)


class GpuTypeOut(StrictSerializer):
    id = fields.Integer()
    name = fields.Text()
    memory_mib = fields.Integer()
    idle_w = fields.Integer()
    max_w = fields.Integer()
    clocks_mhz = fields.Items(child=fields.Integer())
    version = fields.Integer()


class GpuTypePatch(StrictSerializer):
    memory_mib = fields.Integer(min_value=1, max_value=2**24, required=False)
    idle_w = Watts(required=False)
    max_w = fields.Integer(min_value=1, max_value=10_000, required=False)
    clocks_mhz = fields.Items(
        child=fields.Integer(min_value=1, max_value=20_000), max_length=1024, required=False
    )


class GpuTypeCreate(GpuTypePatch):
    name = GpuTypeName()
    memory_mib = fields.Integer(min_value=1, max_value=2**24)
    idle_w = Watts()
    max_w = fields.Integer(min_value=1, max_value=10_000)


class NodeGpuOut(StrictSerializer):
    id = fields.Integer()
    index = fields.Integer()
    uuid = fields.Text()
    healthy = fields.Boolean()
    health_reason = fields.Text(allow_blank=True)
    fault = fields.Text(allow_blank=True)
    remark = fields.Text(
        allow_blank=True, help_text="Seen in telemetry, such as a clock that it ignores."
    )


class NodeOut(StrictSerializer):
    """A node with its GPUs; use, sync and faults move without a new version."""

    id = fields.Integer()
    cluster = fields.Text(source="cluster.name")
    name = fields.Text()
    partition = fields.Text(source="partition.name", allow_null=True)
    rack = fields.Text(source="rack.name", allow_null=True)
    gpu_type = fields.Text(source="gpu_type.name")
    state = fields.Choice(Node.State.choices)
    state_reason = fields.Text(allow_blank=True)
    cpus = fields.Integer()
    cpus_used = fields.Integer()
    memory_mib = fields.Integer()
    memory_used_mib = fields.Integer()
    host_idle_w = fields.Integer()
    host_peak_w = fields.Integer()
    driver = fields.Text(allow_blank=True)
    agent_version = fields.Text(allow_blank=True)
    last_sync_at = fields.Instant(allow_null=True)
    gpus = NodeGpuOut(many=True, source="gpu_set")
    version = fields.Integer()
    created_at = fields.Instant()
    updated_at = fields.Instant()


class NodePatch(StrictSerializer):
    partition = Name(required=False, allow_null=True)
    rack = Name(required=False, allow_null=True)
    cpus = fields.Integer(min_value=1, max_value=4096, required=False)
    memory_mib = fields.Integer(min_value=1, max_value=MAX_MEMORY_MIB, required=False)
    host_idle_w = Watts(required=False)
    host_peak_w = Watts(required=False)


class NodeCreate(NodePatch):
    """`state` is `ready` for a node that may have work at once; its agent makes it so otherwise."""

    cluster = Name()
    name = HostName()
    gpu_type = GpuTypeName()
    cpus = fields.Integer(min_value=1, max_value=4096)
    memory_mib = fields.Integer(min_value=1, max_value=MAX_MEMORY_MIB)
    gpu_count = fields.Integer(min_value=1, max_value=MAX_GPUS)
    gpu_uuids = fields.Items(
        child=fields.Pattern(GPU_UUID), min_length=1, max_length=MAX_GPUS, required=False
    )
    state = fields.Choice([Node.State.JOINING, Node.State.READY], required=False)


class NodeDrain(StrictSerializer):
    reason = Reason(required=False, default="")


class GpuOut(StrictSerializer):
    """`healthy` is an operator's word, `fault` the agent's finding; either keeps new work away."""

    id = fields.Integer()
    cluster = fields.Text(source="node.cluster.name")
    node_id = fields.Integer()
    node = fields.Text(source="node.name")
    gpu_type = fields.Text(source="node.gpu_type.name")
    index = fields.Integer()
    uuid = fields.Text()
    healthy = fields.Boolean()
    health_reason = fields.Text(allow_blank=True)
    fault = fields.Text(allow_blank=True)
    remark = fields.Text(
        allow_blank=True, help_text="Seen in telemetry, such as a clock that it ignores."
    )
    version = fields.Integer()


class GpuPatch(StrictSerializer):
    healthy = fields.Boolean(required=False)
    health_reason = Reason(required=False)


class JoinTokenOut(StrictSerializer):
    id = fields.Integer()
    cluster = fields.Text(source="cluster.name")
    partition = fields.Text(source="partition.name", allow_null=True)
    rack = fields.Text(source="rack.name", allow_null=True)
    prefix = fields.Text()
    created_at = fields.Instant()
    expires_at = fields.Instant()
    used_at = fields.Instant(allow_null=True)
    used_by_node_id = fields.Integer(source="used_by_id", allow_null=True)
    revoked_at = fields.Instant(allow_null=True)


class JoinTokenWithSecret(JoinTokenOut):
    """`secret` is shown once; a replayed answer has null in its place."""

    secret = fields.Text(allow_null=True)


class JoinTokenCreate(StrictSerializer):
    cluster = Name()
    partition = Name(required=False, allow_null=True)
    rack = Name(required=False, allow_null=True)
    lifetime_s = fields.Integer(min_value=60, max_value=30 * 86_400, required=False, default=86_400)


class PolicyOut(StrictSerializer):
    """`promises` and `parameters` are those of the policy with its default parameters."""

    name = fields.Text()
    summary = fields.Text()
    promises = fields.Items(child=fields.Text())
    parameters = fields.JsonObject(help_text="JSON schema of the parameters, with defaults.")


class PolicyListOut(StrictSerializer):
    """All of them on one page."""

    items = PolicyOut(many=True)
    next = fields.Text(allow_null=True)
