"""Addresses of simulations and forecasts below /api/v1/."""

from django.urls import re_path

from rest.routing import ID, Router
from whatif.api.forecasts import (
    ClusterForecastViewSet,
    ForecastJobViewSet,
    ForecastRequestView,
    ForecastViewSet,
)
from whatif.api.power import PowerBudgetViewSet
from whatif.api.quotes import QuoteView
from whatif.api.simulations import SimulationViewSet

router = Router()
router.register("simulations", SimulationViewSet, basename="simulations")
router.register("forecasts", ForecastViewSet, basename="forecasts")
router.register(
    rf"clusters/(?P<cluster_id>{ID})/power-budget", PowerBudgetViewSet, basename="power-budgets"
)

urlpatterns = [
    *router.urls,
    re_path(r"^quotes/?$", QuoteView.as_view(), name="quotes"),
    re_path(
        rf"^clusters/(?P<cluster_id>{ID})/forecast/?$",
        ForecastRequestView.as_view(),
        name="forecast",
    ),
    re_path(
        rf"^clusters/(?P<cluster_id>{ID})/forecasts/?$",
        ClusterForecastViewSet.as_view({"get": "list"}),
        name="cluster-forecasts",
    ),
    re_path(
        rf"^forecasts/(?P<forecast_id>{ID})/jobs/?$",
        ForecastJobViewSet.as_view({"get": "list"}),
        name="forecast-jobs",
    ),
]
