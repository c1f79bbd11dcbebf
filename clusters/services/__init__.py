"""Writes of the machines: one function per action, each with its audit row in the transaction."""

from clusters.services.clusters import (
    CLUSTERS,
    cluster_create,
    cluster_delete,
    cluster_set_policy,
    cluster_update,
)
from clusters.services.draining import node_drain, node_resume, nodes_finish_draining
from clusters.services.gpu_types import (
    GPU_TYPES,
    gpu_type_create,
    gpu_type_delete,
    gpu_type_update,
)
from clusters.services.join_tokens import NewJoinToken, join_token_create, join_token_revoke
from clusters.services.nodes import NODES, gpu_update, node_create, node_delete, node_update
from clusters.services.topology import (
    PARTITIONS,
    RACKS,
    SWITCHES,
    partition_create,
    rack_create,
    rack_update,
    switch_create,
)
from clusters.services.volumes import VOLUMES, volume_create, volume_delete, volume_update

__all__ = [
    "CLUSTERS",
    "GPU_TYPES",
    "NODES",
    "PARTITIONS",
    "RACKS",
    "SWITCHES",
    "VOLUMES",
    "NewJoinToken",
    "cluster_create",
    "cluster_delete",
    "cluster_set_policy",
    "cluster_update",
    "gpu_type_create",
    "gpu_type_delete",
    "gpu_type_update",
    "gpu_update",
    "join_token_create",
    "join_token_revoke",
    "node_create",
    "node_delete",
    "node_drain",
    "node_resume",
    "node_update",
    "nodes_finish_draining",
    "partition_create",
    "rack_create",
    "rack_update",
    "switch_create",
    "volume_create",
    "volume_delete",
    "volume_update",
]
