"""Predicted against actual cost over HTTP."""

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from clusters.models import Cluster
from energy.api.statements import span_of
from jobs.api.filters import LIMIT
from rest.filters import InstantFilter
from rest.problems import NotFound
from rest.structs import show
from rest.views import Answer, JSONView, respond
from scheduling.api import structs
from scheduling.costs import cluster_costs


class CostsView(JSONView):
    """What the policy expected ended jobs to cost, energy and tardiness, and what they did cost.

    Only jobs that were placed by a policy that reckons in money are counted. Of a job that was
    moved, resized or started again, each prediction counts for the time until the next.
    """

    resource = "costs"
    rights = {"get": "costs.read"}
    output = structs.CostsOut
    query_parameters = {
        "get": {
            "from": InstantFilter(help_text="Jobs that ended then or later; this month."),
            "to": InstantFilter(help_text="Jobs that ended earlier than this; now."),
            "limit": LIMIT,
        }
    }

    def get(self, request: Request, cluster_id: str) -> HttpResponse:
        asked = self.query()
        from_at, until_at = span_of(asked, timezone.now())
        cluster = Cluster.objects.select_related("tariff").filter(pk=int(cluster_id)).first()
        if cluster is None:
            raise NotFound
        limit = asked.get("limit", LIMIT.default)
        found = cluster_costs(cluster, from_at=from_at, until_at=until_at, limit=limit)
        return respond(Answer(show(structs.CostsOut, found)))
