"""How good predictions are over HTTP."""

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
from scheduling.calibration import cluster_calibration


class CalibrationView(JSONView):
    """How far predicted energy, time and cost were from what came, by GPU type and profile.

    Of every job that succeeded, the attempt that brought it to its end is compared. Time and cost
    are predicted only by policies that reckon in money.
    """

    resource = "calibration"
    rights = {"get": "costs.read"}
    output = structs.CalibrationOut
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
        cluster = Cluster.objects.filter(pk=int(cluster_id)).first()
        if cluster is None:
            raise NotFound
        limit = asked.get("limit", LIMIT.default)
        found = cluster_calibration(cluster, from_at=from_at, until_at=until_at, limit=limit)
        return respond(Answer(show(structs.CalibrationOut, found)))
