"""Addresses of the machines below /api/v1/."""

from django.urls import re_path

from clusters.api import cluster_views, hardware_views
from clusters.api.policy_views import NAME, PolicyViewSet
from rest.routing import Router

router = Router()
router.register("clusters", cluster_views.ClusterViewSet, basename="clusters")
router.register("partitions", cluster_views.PartitionViewSet, basename="partitions")
router.register("switches", cluster_views.SwitchViewSet, basename="switches")
router.register("racks", cluster_views.RackViewSet, basename="racks")
router.register("volumes", cluster_views.VolumeViewSet, basename="volumes")
router.register("gpu-types", hardware_views.GpuTypeViewSet, basename="gpu-types")
router.register("nodes", hardware_views.NodeViewSet, basename="nodes")
router.register("gpus", hardware_views.GpuViewSet, basename="gpus")
router.register("join-tokens", hardware_views.JoinTokenViewSet, basename="join-tokens")

urlpatterns = [
    *router.urls,
    re_path(r"^policies/?$", PolicyViewSet.as_view({"get": "all"}), name="policies"),
    re_path(
        rf"^policies/(?P<name>{NAME})/?$", PolicyViewSet.as_view({"get": "retrieve"}), name="policy"
    ),
]
