"""Nodes with their GPUs, and the single-use tokens by which a node may join."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from clusters.models.cluster import Cluster, Partition, Rack
from rest.constraints import Check, ConstraintRule, Unique
from rest.names import HOST

GPU_TYPE = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"


class GpuType(models.Model):
    name = models.TextField(unique=True)
    memory_mib = models.IntegerField()
    idle_w = models.IntegerField()
    max_w = models.IntegerField()
    clocks_mhz = ArrayField(models.IntegerField(), default=list)
    version = models.BigIntegerField(default=1)

    class Meta:
        constraints = (
            Check(
                "gpu_type_name",
                Q(name__regex=GPU_TYPE),
                "bad_name: Letters, digits, dots, dashes, underscores.",
            ),
            Check("gpu_type_memory", Q(memory_mib__gt=0), "out_of_range: A GPU has some memory."),
            Check(
                "gpu_type_watts",
                Q(idle_w__gte=0, max_w__gt=0, idle_w__lte=F("max_w")),
                "out_of_range: Idle watts are not negative and not above the maximum.",
            ),
        )

    def __str__(self) -> str:
        return self.name


class Node(models.Model):
    explained = {
        "clusters_node_partition_of_cluster": ConstraintRule(
            "unknown_partition",
            "/partition",
            "A node stands in a partition of its own cluster, and a partition with nodes stays.",
        ),
        "clusters_node_rack_of_cluster": ConstraintRule(
            "unknown_rack",
            "/rack",
            "A node stands in a rack of its own cluster, and a rack with nodes stays.",
        ),
        "clusters_node_token_id_key": ConstraintRule(
            "conflict", "", "Another node speaks with this token."
        ),
    }

    class State(models.TextChoices):
        JOINING = "joining"
        READY = "ready"
        DRAINING = "draining"
        DRAINED = "drained"
        LOST = "lost"
        OFF = "off"
        QUARANTINED = "quarantined"

    class ContainerTool(models.TextChoices):
        """What runs images; empty: nothing does."""

        PODMAN = "podman"
        DOCKER = "docker"
        APPTAINER = "apptainer"
        ENROOT = "enroot"

    class Wall(models.TextChoices):
        """What keeps tenants apart; without one a node is one tenant's at a time."""

        NONE = "none"
        UID = "uid"
        NAMESPACES = "namespaces"

    cluster = models.ForeignKey(Cluster, models.PROTECT)
    # The composite keys (partition, cluster) and (rack, cluster) in the migration replace the
    # simple ones, so that a node cannot stand in another cluster's partition or rack.
    partition = models.ForeignKey(Partition, models.PROTECT, null=True, db_constraint=False)
    rack = models.ForeignKey(Rack, models.PROTECT, null=True, db_constraint=False)
    gpu_type = models.ForeignKey(GpuType, models.PROTECT)
    name = models.TextField()
    state = models.TextField(choices=State, default=State.JOINING)
    state_reason = models.TextField(default="")
    # How many of its GPUs attempts hold; attempts begin and end in the room above, with this.
    gpus_in_use = models.IntegerField(default=0)
    cpus = models.IntegerField()
    cpus_used = models.IntegerField(default=0)
    memory_mib = models.BigIntegerField()
    memory_used_mib = models.BigIntegerField(default=0)
    host_idle_w = models.IntegerField(default=0)
    host_peak_w = models.IntegerField(default=0)
    # What its agent said when it registered, and the epoch that fences an older agent.
    token = models.OneToOneField("tenancy.ApiToken", models.SET_NULL, null=True)
    install_id = models.TextField(default="")
    epoch = models.BigIntegerField(default=0)
    boot_id = models.TextField(default="")
    address = models.TextField(default="")
    agent_version = models.TextField(default="")
    driver = models.TextField(default="")
    features = models.JSONField(default=dict)
    # Of the features those that decide what may be placed here; a row without an agent can nothing.
    container_tool = models.TextField(choices=ContainerTool, default="", blank=True)
    wall = models.TextField(choices=Wall, default=Wall.NONE)
    workloads = models.BooleanField(default=False)
    git = models.BooleanField(default=False)
    # The last word that the site's power command has taken: on, off, or none yet.
    power_commanded = models.TextField(default="")
    # What the last answer told its agent to be, and what its last sync said that it is.
    power_told = models.TextField(default="")
    power_said = models.TextField(default="")
    # Since when it has been ready and held nothing; of other nodes it says nothing.
    idle_since_at = models.DateTimeField(db_default=Now())
    # Both leases count from the last sync; `losses` since `losses_since` make a node flap.
    last_sync_at = models.DateTimeField(null=True)
    sync_sequence = models.BigIntegerField(default=0)
    losses = models.IntegerField(default=0)
    losses_since = models.DateTimeField(null=True)
    # Samples that could not be true, and those the agent had to drop before they were sent.
    samples_refused = models.BigIntegerField(default=0)
    samples_shed = models.BigIntegerField(default=0)
    version = models.BigIntegerField(default=1)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = (
            Unique(
                "node_name_taken",
                ["cluster", "name"],
                "name_taken: Another node of this cluster has this name.",
            ),
            Check("node_name_is_host", Q(name__regex=HOST), "bad_name: A host name in lower case."),
            Check(
                "node_state",
                Q(
                    state__in=(
                        "joining",
                        "ready",
                        "draining",
                        "drained",
                        "lost",
                        "off",
                        "quarantined",
                    )
                ),
                "bad_state: There is no such state of a node.",
            ),
            Check(
                "node_container_tool",
                Q(container_tool__in=("", "podman", "docker", "apptainer", "enroot")),
                "bad_container_tool: There is no such container tool.",
            ),
            Check(
                "node_wall",
                Q(wall__in=("none", "uid", "namespaces")),
                "bad_wall: A wall is none, uid or namespaces.",
            ),
            Check(
                "node_gpus_in_use",
                Q(gpus_in_use__gte=0),
                "out_of_range: GPUs in use are not negative.",
                pointer="",
            ),
            Check(
                "node_cpus_within",
                Q(cpus__gt=0, cpus_used__gte=0, cpus_used__lte=F("cpus")),
                "below_use: Work on the node holds more CPUs than that.",
            ),
            Check(
                "node_memory_within",
                Q(
                    memory_mib__gt=0,
                    memory_used_mib__gte=0,
                    memory_used_mib__lte=F("memory_mib"),
                ),
                "below_use: Work on the node holds more memory than that.",
            ),
            Check(
                "node_host_watts",
                Q(host_idle_w__gte=0, host_idle_w__lte=F("host_peak_w")),
                "out_of_range: The host's idle watts are not negative and not above its peak.",
            ),
        )
        indexes = (models.Index(fields=["cluster", "id"], name="node_by_cluster"),)

    def __str__(self) -> str:
        return self.name


class Gpu(models.Model):
    """One device; its type is the node's, because a node holds one type."""

    explained = {
        "uuid": ConstraintRule(
            "uuid_taken",
            "/gpu_uuids",
            "A GPU with one of these uuids is known already; each GPU stands in one node.",
        )
    }

    node = models.ForeignKey(Node, models.CASCADE)
    index = models.SmallIntegerField()
    uuid = models.TextField(unique=True)
    healthy = models.BooleanField(default=True)
    health_reason = models.TextField(default="")
    # What the agent finds wrong; empty is fine. An operator's word is `healthy`, and both count.
    fault = models.TextField(default="")
    # What telemetry says about it that keeps no work away, such as a clock that it ignores.
    remark = models.TextField(default="")
    version = models.BigIntegerField(default=1)

    class Meta:
        constraints = (
            Unique(
                "gpu_index_taken",
                ["node", "index"],
                "index_taken: The node has a GPU at this index.",
            ),
            # A node's free GPUs are one 64-bit mask in the snapshot.
            Check(
                "gpu_index_range",
                Q(index__range=(0, 63)),
                "out_of_range: A node has at most 64 GPUs.",
            ),
        )

    def __str__(self) -> str:
        return self.uuid


class JoinToken(models.Model):
    """A single-use right to register a node in a cluster; only its hash is kept."""

    explained = {"hash": ConstraintRule("conflict", "", "Try again: the secret was drawn before.")}

    cluster = models.ForeignKey(Cluster, models.CASCADE)
    # Where the node that joins with it will stand.
    partition = models.ForeignKey(Partition, models.CASCADE, null=True)
    rack = models.ForeignKey(Rack, models.CASCADE, null=True)
    prefix = models.TextField()
    hash = models.BinaryField(max_length=32, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    used_by = models.ForeignKey(Node, models.SET_NULL, null=True)
    revoked_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.prefix
