"""Tables of the machines, one file per subject."""

from clusters.models.cluster import Cluster, Partition, Rack, Switch, Watch, WatchPause
from clusters.models.hardware import Gpu, GpuType, JoinToken, Node
from clusters.models.volume import Volume, VolumeGrant

__all__ = [
    "Cluster",
    "Gpu",
    "GpuType",
    "JoinToken",
    "Node",
    "Partition",
    "Rack",
    "Switch",
    "Volume",
    "VolumeGrant",
    "Watch",
    "WatchPause",
]
