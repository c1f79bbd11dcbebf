"""The whole of it, and who and what the pages are about."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db.models import Sum

from clusters.models import Cluster, Node, Rack
from energy.models import LedgerRow
from jobs.models import Job
from lab.screenshots.story.logs import make_logs
from lab.screenshots.story.machines import make_site, wear
from lab.screenshots.story.people import make_people
from lab.screenshots.story.readings import make_readings
from lab.screenshots.story.work import expect, live_through
from scheduling.models import Round
from tenancy.models import Tenant

EVERY_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Story:
    operator: User
    member: User
    cluster: Cluster
    tenant: Tenant
    node: Node
    rack: Rack
    running: Job
    waiting: Job
    dearest: Job
    round: Round


def tell(*, now: datetime, every: timedelta = EVERY_MINUTE, forecast: bool = True) -> Story:
    """`every` is how far apart readings lie; without a forecast it is told in seconds."""
    cluster, people = make_site(now), make_people()
    live_through(cluster, people, now=now)
    if forecast:
        expect(cluster, now=now)
    wear(cluster, now)
    make_logs(now=now)
    make_readings(cluster, now=now, every=every)
    Cluster.objects.filter(pk=cluster.pk).update(next_round_at=now + timedelta(days=1))
    dearest = (
        LedgerRow.objects.filter(starts_at__gte=now.replace(hour=0, minute=0, second=0))
        .values_list("attempt__job_id")
        .annotate(sum=Sum("cost"))
        .order_by("-sum")
    )
    running = Job.objects.filter(name="vit-22b-pretrain").latest("pk")
    node = Node.objects.filter(cluster=cluster, state="ready", gpus_in_use__gt=0).earliest("pk")
    return Story(
        operator=people.operator,
        member=people.member,
        cluster=cluster,
        tenant=people.tenants["vision"],
        node=node,
        rack=Rack.objects.get(node=node),
        running=running,
        waiting=Job.objects.get(name="diffusion-xl"),
        dearest=Job.objects.get(pk=dearest[0][0]),
        round=Round.objects.latest("pk"),
    )
