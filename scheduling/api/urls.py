"""Addresses of rounds and explanations below /api/v1/."""

from django.urls import re_path

from rest.routing import ID, Router
from scheduling.api.calibration import CalibrationView
from scheduling.api.costs import CostsView
from scheduling.api.explain import JobExplainViewSet
from scheduling.api.rounds import RoundViewSet, ShadowView

router = Router()
router.register("rounds", RoundViewSet, basename="rounds")

urlpatterns = [
    *router.urls,
    re_path(rf"^jobs/(?P<id>{ID})/explain/?$", JobExplainViewSet.as_view({"get": "explain"})),
    re_path(
        rf"^clusters/(?P<cluster_id>{ID})/calibration/?$",
        CalibrationView.as_view(),
        name="calibration",
    ),
    re_path(rf"^clusters/(?P<cluster_id>{ID})/costs/?$", CostsView.as_view(), name="costs"),
    re_path(rf"^clusters/(?P<cluster_id>{ID})/shadow/?$", ShadowView.as_view(), name="shadow"),
]
