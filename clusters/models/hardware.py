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
                condition=Q(name__regex=GPU_TYPE),
                name="gpu_type_name",
                violation_error_code="bad_name",
                violation_error_message="Letters, digits, dots, dashes, underscores.",
            ),
            Check(
                condition=Q(memory_mib__gt=0),
                name="gpu_type_memory",
                violation_error_code="out_of_range",
                violation_error_message="A GPU has some memory.",
            ),
            Check(
                condition=Q(idle_w__gte=0, max_w__gt=0, idle_w__lte=F("max_w")),
                name="gpu_type_watts",
                violation_error_code="out_of_range",
                violation_error_message="Idle watts are not negative and not above the maximum.",
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
    # The last word that the site's power command has taken: on, off, or none yet.
    power_commanded = models.TextField(default="")
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
                fields=["cluster", "name"],
                name="node_name_taken",
                violation_error_code="name_taken",
                violation_error_message="Another node of this cluster has this name.",
            ),
            Check(
                condition=Q(name__regex=HOST),
                name="node_name_is_host",
                violation_error_code="bad_name",
                violation_error_message="A host name in lower case.",
            ),
            Check(
                condition=Q(
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
                name="node_state",
                violation_error_code="bad_state",
                violation_error_message="There is no such state of a node.",
            ),
            Check(
                condition=Q(gpus_in_use__gte=0),
                name="node_gpus_in_use",
                pointer="",
                violation_error_code="out_of_range",
                violation_error_message="GPUs in use are not negative.",
            ),
            Check(
                condition=Q(cpus__gt=0, cpus_used__gte=0, cpus_used__lte=F("cpus")),
                name="node_cpus_within",
                violation_error_code="below_use",
                violation_error_message="Work on the node holds more CPUs than that.",
            ),
            Check(
                condition=Q(
                    memory_mib__gt=0,
                    memory_used_mib__gte=0,
                    memory_used_mib__lte=F("memory_mib"),
                ),
                name="node_memory_within",
                violation_error_code="below_use",
                violation_error_message="Work on the node holds more memory than that.",
            ),
            Check(
                condition=Q(host_idle_w__gte=0, host_idle_w__lte=F("host_peak_w")),
                name="node_host_watts",
                violation_error_code="out_of_range",
                violation_error_message="The host's idle watts are not negative "
                "and not above its peak.",
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
                fields=["node", "index"],
                name="gpu_index_taken",
                violation_error_code="index_taken",
                violation_error_message="The node has a GPU at this index.",
            ),
            # A node's free GPUs are one 64-bit mask in the snapshot.
            Check(
                condition=Q(index__range=(0, 63)),
                name="gpu_index_range",
                violation_error_code="out_of_range",
                violation_error_message="A node has at most 64 GPUs.",
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
