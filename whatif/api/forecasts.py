"""Forecasts over HTTP: ask for one, read them, and what each expects of your jobs."""

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from clusters.models import Cluster
from rest.filters import ChoiceFilter, IntegerFilter
from rest.problems import NotFound
from rest.structs import show
from rest.views import Answer, JSONView, ListMixin, RetrieveMixin
from whatif import selectors, services
from whatif.api import structs
from whatif.models import Forecast, ForecastJob, WorkState


def cluster_or_404(cluster_id: str) -> Cluster:
    cluster = Cluster.objects.filter(pk=int(cluster_id)).first()
    if cluster is None:
        raise NotFound
    return cluster


class ForecastRequestView(JSONView):
    """Run the cluster's queue forward as it is now."""

    resource = "forecast"
    rights = {"post": "forecasts.make"}
    output = structs.ForecastOut
    statuses = {"post": 202}

    def post(self, request: Request, cluster_id: str) -> HttpResponse:
        """Ask for a forecast, and read it under its id a little later. A fresh one is not made
        again."""
        cluster = cluster_or_404(cluster_id)

        def effect() -> Answer:
            made = services.forecast_request(cluster, now=timezone.now())
            shown = selectors.forecasts(self.caller).get(pk=made)
            return Answer(show(structs.ForecastOut, shown), 202)

        return self.write(effect)


class ClusterForecastViewSet(ListMixin):
    """Forecasts of a cluster, with how near they came to the starts of the jobs you may see."""

    resource = "cluster_forecasts"
    rights = {"list": "forecasts.read"}
    output = structs.ForecastOut
    filters = {"state": ChoiceFilter(WorkState)}

    def rows(self) -> QuerySet[Forecast]:
        cluster = cluster_or_404(self.kwargs["cluster_id"])
        return selectors.forecasts(self.caller).filter(cluster=cluster)


class ForecastViewSet(RetrieveMixin):
    """What was expected of a cluster's queue at a moment."""

    resource = "forecasts"
    rights = {"retrieve": "forecasts.read"}
    output = structs.ForecastOut

    def rows(self) -> QuerySet[Forecast]:
        return selectors.forecasts(self.caller)


class ForecastJobViewSet(ListMixin):
    """What a forecast says of each job you may see, and what came of it."""

    resource = "forecast_jobs"
    rights = {"list": "forecasts.read"}
    output = structs.ForecastJobOut
    filters = {"job": IntegerFilter()}

    def rows(self) -> QuerySet[ForecastJob]:
        forecast_id = int(self.kwargs["forecast_id"])
        if not Forecast.objects.filter(pk=forecast_id).exists():
            raise NotFound
        return selectors.forecast_jobs(self.caller, forecast_id)
