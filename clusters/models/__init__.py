"""Tables of the machines, one file per subject."""

from clusters.models.cluster import Cluster, Partition, Rack, Switch, Watch
from clusters.models.hardware import Gpu, GpuType, JoinToken, Node

__all__ = [
    "Cluster",
    "Gpu",
    "GpuType",
    "JoinToken",
    "Node",
    "Partition",
    "Rack",
    "Switch",
    "Watch",
]
