"""Work on a node, as a round leaves it: an attempt that holds GPUs."""

from django.db.models import Count, F

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
    Node.objects.filter(pk=node.pk).update(gpus_in_use=F("gpus_in_use") + gpus)
    return attempt


def release(attempt: Attempt) -> None:
    held = Allocation.objects.filter(attempt=attempt, released_at=None)
    for node_id, gpus in held.values_list("node").annotate(gpus=Count("id")).order_by("node"):
        Node.objects.filter(pk=node_id).update(gpus_in_use=F("gpus_in_use") - gpus)
    held.update(released_at=NOW)
