"""Why no node may run a job although nodes have the GPUs it allows."""

from django.db.models import Q

from clusters.models import Node
from jobs.models import Allocation, Job

# Policies see what nodes can, and whose they are, as GPU types (snapshot/node_classes.py).
AS_TYPES = frozenset({"no_such_gpu_type", "larger_than_partition"})


def why_unable(job: Job) -> tuple[str, str] | None:
    """Reason and sentence, where it is not the GPU types or the size that keep the job waiting."""
    nodes = Node.objects.filter(cluster=job.cluster_id, partition=job.partition_id)
    if job.gpu_types:
        nodes = nodes.filter(gpu_type__name__in=job.gpu_types)
    if not nodes.exists():
        return None
    if job.image is not None and not nodes.exclude(container_tool="").exists():
        return "no_containers", "No node with a GPU type that it allows can run images."
    if brings_along(job) and not nodes.filter(workloads=True).exists():
        return "no_workloads", "The agents of all nodes it may use are too old for what it brings."
    if job.git_url is not None and not nodes.filter(git=True).exists():
        return "no_git", "No node with a GPU type that it allows has git to fetch its code with."
    alone = nodes.filter(Q(wall=Node.Wall.NONE) | Q(cluster__exclusive=True))
    others = Allocation.objects.filter(node__in=alone, released_at=None)
    if others.exclude(tenant=job.tenant_id).exists():
        text = "Nodes it may use are one tenant's at a time, and others hold them."
        return "other_tenants", text
    return None


def brings_along(job: Job) -> bool:
    named = job.mounts or job.artifacts or job.secrets
    filled = job.workdir_id is not None or job.git_url is not None
    return bool(named) or filled or job.time_limit_s is not None
