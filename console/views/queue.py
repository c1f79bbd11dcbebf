"""Lists of jobs: the queue with its reasons, and jobs of any state."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from clusters.selectors import clusters
from console.pages import reads, show
from console.query import choice, number
from console.reads.jobs import newest_jobs, waiting_jobs
from jobs.models import Job
from tenancy.callers import Caller


@reads("jobs.read")
def queue(request: HttpRequest, caller: Caller) -> HttpResponse:
    names = list(clusters().order_by("name").values_list("pk", "name"))
    return show(request, caller, "queue.html", {**_queue(request, caller), "clusters": names})


@reads("jobs.read")
def queue_live(request: HttpRequest, caller: Caller) -> HttpResponse:
    return show(request, caller, "queue_live.html", _queue(request, caller))


def _queue(request: HttpRequest, caller: Caller) -> dict[str, Any]:
    cluster_id, after = number(request, "cluster"), number(request, "after")
    page = waiting_jobs(caller, cluster_id=cluster_id, after=after)
    return {"page": page, "cluster_id": cluster_id, "after": after}


@reads("jobs.read")
def jobs(request: HttpRequest, caller: Caller) -> HttpResponse:
    state = choice(request, "state", Job.State.values)
    tenant_id = number(request, "tenant")
    page = newest_jobs(caller, state=state, tenant_id=tenant_id, before=number(request, "before"))
    context = {"page": page, "state": state, "states": Job.State.values, "tenant_id": tenant_id}
    return show(request, caller, "jobs.html", context)
