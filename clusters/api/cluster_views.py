"""Clusters and how they are cut: shape and rights here, decisions in the services."""

from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from clusters import selectors, services
from clusters.api import examples, filters, serializers
from clusters.api.fresh import FreshRetrieveMixin
from clusters.models import Cluster, Partition, Rack, Switch
from rest.views import (
    CreateMixin,
    DestroyMixin,
    ListMixin,
    RetrieveMixin,
    UpdateMixin,
    crud_rights,
)


class ClusterViewSet(ListMixin, FreshRetrieveMixin, CreateMixin, UpdateMixin, DestroyMixin):
    """One scheduling domain: nodes, a policy, and what its energy costs.

    A policy named without parameters starts from its defaults, and takes effect in the next round.
    Tariff and carbon series are given and shown by name; a tariff has the cluster's currency.
    """

    resource = "clusters"
    rights = crud_rights("clusters")
    output = serializers.ClusterOut
    inputs = {"create": serializers.ClusterCreate, "partial_update": serializers.ClusterPatch}
    examples = examples.CLUSTERS
    filterset_class = filters.ClusterFilters
    ordering_fields = ("id", "name")
    etag_prefix = "cluster"

    def rows(self) -> QuerySet[Cluster]:
        return selectors.clusters()

    def perform_create(self, values: dict[str, Any]) -> Cluster:
        return services.cluster_create(caller=self.caller, values=values)

    def perform_update(self, row: Cluster, changes: dict[str, Any]) -> Cluster:
        now = timezone.now()
        return services.cluster_update(caller=self.caller, cluster=row, changes=changes, now=now)

    def perform_destroy(self, row: Cluster) -> None:
        services.cluster_delete(caller=self.caller, cluster=row)


class PartitionViewSet(ListMixin, RetrieveMixin, CreateMixin, UpdateMixin, DestroyMixin):
    """Logical slices of a cluster; one that `lends` lets others use its idle GPUs."""

    resource = "partitions"
    rights = crud_rights("partitions")
    output = serializers.PartitionOut
    inputs = {
        "create": serializers.PartitionCreate,
        "partial_update": serializers.PartitionPatch,
    }
    examples = examples.PARTITIONS
    filterset_class = filters.PartitionFilters
    etag_prefix = "partition"

    def rows(self) -> QuerySet[Partition]:
        return selectors.partitions()

    def perform_create(self, values: dict[str, Any]) -> Partition:
        return services.partition_create(caller=self.caller, **values)

    def perform_update(self, row: Partition, changes: dict[str, Any]) -> Partition:
        return services.partition_update(caller=self.caller, partition=row, changes=changes)

    def perform_destroy(self, row: Partition) -> None:
        services.partition_delete(caller=self.caller, partition=row)


class SwitchViewSet(ListMixin, RetrieveMixin, CreateMixin, UpdateMixin, DestroyMixin):
    """Switches of a cluster, above its racks."""

    resource = "switches"
    rights = crud_rights("switches")
    output = serializers.SwitchOut
    inputs = {"create": serializers.SwitchCreate, "partial_update": serializers.SwitchPatch}
    examples = examples.SWITCHES
    filterset_class = filters.SwitchFilters
    etag_prefix = "switch"

    def rows(self) -> QuerySet[Switch]:
        return selectors.switches()

    def perform_create(self, values: dict[str, Any]) -> Switch:
        return services.switch_create(caller=self.caller, **values)

    def perform_update(self, row: Switch, changes: dict[str, Any]) -> Switch:
        return services.switch_update(caller=self.caller, switch=row, changes=changes)

    def perform_destroy(self, row: Switch) -> None:
        services.switch_delete(caller=self.caller, switch=row)


class RackViewSet(ListMixin, RetrieveMixin, CreateMixin, UpdateMixin, DestroyMixin):
    """Racks of a cluster, each below at most one switch."""

    resource = "racks"
    rights = crud_rights("racks")
    output = serializers.RackOut
    inputs = {"create": serializers.RackCreate, "partial_update": serializers.RackPatch}
    examples = examples.RACKS
    filterset_class = filters.RackFilters
    etag_prefix = "rack"

    def rows(self) -> QuerySet[Rack]:
        return selectors.racks()

    def perform_create(self, values: dict[str, Any]) -> Rack:
        return services.rack_create(caller=self.caller, **values)

    def perform_update(self, row: Rack, changes: dict[str, Any]) -> Rack:
        return services.rack_update(caller=self.caller, rack=row, changes=changes)

    def perform_destroy(self, row: Rack) -> None:
        services.rack_delete(caller=self.caller, rack=row)
