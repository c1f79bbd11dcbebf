"""Addresses of the machines below /api/v1/."""

from django.urls import re_path

from clusters.api import cluster_views, energy_views, hardware_views, quota_views
from clusters.api.policy_views import NAME, PolicyViewSet
from clusters.api.power_views import ClusterPowerView
from rest.routing import ID, Router

router = Router()
router.register("clusters", cluster_views.ClusterViewSet, basename="clusters")
router.register("partitions", cluster_views.PartitionViewSet, basename="partitions")
router.register("switches", cluster_views.SwitchViewSet, basename="switches")
router.register("racks", cluster_views.RackViewSet, basename="racks")
router.register("gpu-types", hardware_views.GpuTypeViewSet, basename="gpu-types")
router.register("nodes", hardware_views.NodeViewSet, basename="nodes")
router.register("gpus", hardware_views.GpuViewSet, basename="gpus")
router.register("join-tokens", hardware_views.JoinTokenViewSet, basename="join-tokens")
router.register("gpu-quotas", quota_views.GpuQuotaViewSet, basename="gpu-quotas")
router.register("tariffs", energy_views.TariffViewSet, basename="tariffs")
router.register(
    rf"tariffs/(?P<tariff_id>{ID})/hours", energy_views.TariffHourViewSet, basename="tariff-hours"
)
router.register("carbon-series", energy_views.CarbonSeriesViewSet, basename="carbon-series")
router.register(
    rf"carbon-series/(?P<series_id>{ID})/hours",
    energy_views.CarbonHourViewSet,
    basename="carbon-hours",
)

urlpatterns = [
    *router.urls,
    re_path(rf"^clusters/(?P<cluster_id>{ID})/power/?$", ClusterPowerView.as_view(), name="power"),
    re_path(r"^policies/?$", PolicyViewSet.as_view({"get": "all"}), name="policies"),
    re_path(
        rf"^policies/(?P<name>{NAME})/?$", PolicyViewSet.as_view({"get": "retrieve"}), name="policy"
    ),
]
