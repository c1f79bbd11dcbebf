"""What a cluster draws against its budgets, and when it drew more."""

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from clusters.models import Cluster
from energy.api.structs import ClusterPowerOut
from energy.budgets.energy import energy_left
from energy.models import PowerBreach, PowerState
from rest.problems import NotFound
from rest.structs import show
from rest.views import Answer, JSONView, respond

NEWEST = 100


class ClusterPowerView(JSONView):
    """The last measured minute of the cluster and its budgeted partitions, and the last breaches.

    With an energy budget also what is left of it in this day or month.
    `correction_w` is by how much less rounds plan with, since their model was found too low.
    """

    resource = "cluster_power"
    rights = {"get": "power.read"}
    output = ClusterPowerOut

    def get(self, request: Request, cluster_id: str) -> HttpResponse:
        cluster = Cluster.objects.select_related("tariff").filter(pk=int(cluster_id)).first()
        if cluster is None:
            raise NotFound
        states = PowerState.objects.filter(cluster=cluster).select_related("partition")
        breaches = PowerBreach.objects.filter(cluster=cluster).select_related("partition")
        shown = show(
            ClusterPowerOut,
            cluster,
            states=list(states.order_by("pk")),
            breaches=list(breaches.order_by("-pk")[:NEWEST]),
            energy=energy_left(cluster, now=timezone.now()),
        )
        return respond(Answer(shown))
