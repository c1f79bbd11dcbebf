"""Addresses of tariffs and carbon series below /api/v1/."""

from rest.routing import ID, Router
from tariffs.api import views

router = Router()
router.register("tariffs", views.TariffViewSet, basename="tariffs")
router.register(
    rf"tariffs/(?P<tariff_id>{ID})/hours", views.TariffHourViewSet, basename="tariff-hours"
)
router.register("carbon-series", views.CarbonSeriesViewSet, basename="carbon-series")
router.register(
    rf"carbon-series/(?P<series_id>{ID})/hours",
    views.CarbonHourViewSet,
    basename="carbon-hours",
)

urlpatterns = router.urls
