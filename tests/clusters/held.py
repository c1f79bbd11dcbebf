"""Work on a node, as a round leaves it: an attempt that holds GPUs."""

from clusters.models import Cluster, Gpu, Node
from jobs.models import Allocation, Attempt, Job
from tenancy.models import Tenant
from tests.clusters.conftest import NOW


def hold(tenant: Tenant, node: Node, gpus: int = 1) -> Attempt:
    cluster: Cluster = node.cluster
    job = Job.objects.create(
        tenant=tenant, cluster=cluster, name="j", argv=["true"], submitted_at=NOW
    )
    number = Attempt.objects.count() + 1
    attempt = Attempt.objects.create(
        tenant=tenant,
        job=job,
        cluster=cluster,
        number=1,
        fence=number,
        gpus=gpus,
        offered_at=NOW,
    )
    for gpu in Gpu.objects.filter(node=node).order_by("index")[:gpus]:
        Allocation.objects.create(
            tenant=tenant,
            attempt=attempt,
            node=node,
            gpu=gpu,
            cpus=0,
            memory_mib=0,
            held_at=NOW,
        )
    return attempt


def release(attempt: Attempt) -> None:
    Allocation.objects.filter(attempt=attempt).update(released_at=NOW)
