"""Clusters and how they are cut: shape and rights here, decisions in the services."""

from collections.abc import Mapping
from typing import Any

from clusters import services
from clusters.api import structs
from clusters.models import Volume
from policies import registry
from rest.filters import BooleanFilter, ChoiceFilter, TextFilter
from rest.resources import NamedResource
from tenancy.roles import Role


class ClusterViewSet(NamedResource):
    """One scheduling domain: nodes, a policy, and what its energy costs.

    A policy named without parameters starts from its defaults, and takes effect in the next round.
    Tariff and carbon series are given and shown by name; a tariff has the cluster's currency.
    """

    resource = "clusters"
    output = structs.ClusterOut
    inputs = {"create": structs.ClusterCreate, "partial_update": structs.ClusterPatch}
    filters = {
        "name": TextFilter(),
        "policy": ChoiceFilter(registry.policy_names()),
        "tariff": TextFilter("tariff__name"),
        "carbon_series": TextFilter("carbon_series__name"),
    }
    ordering_fields = ("id", "name")
    etag_prefix = "cluster"
    moves_without_version = True
    services = services.CLUSTERS


class PartitionViewSet(NamedResource):
    """Logical slices of a cluster; one that `lends` lets others use its idle GPUs."""

    resource = "partitions"
    output = structs.PartitionOut
    inputs = {"create": structs.PartitionCreate, "partial_update": structs.PartitionPatch}
    filters = {
        "cluster": TextFilter("cluster__name"),
        "name": TextFilter(),
        "lends": BooleanFilter(),
    }
    etag_prefix = "partition"
    services = services.PARTITIONS


class VolumeViewSet(NamedResource):
    """Folders that every node of a cluster has. Jobs mount them by name; operators declare them."""

    resource = "volumes"
    output = structs.VolumeOut
    inputs = {"create": structs.VolumeCreate, "partial_update": structs.VolumePatch}
    filters = {"cluster": TextFilter("cluster__name"), "name": TextFilter()}
    etag_prefix = "volume"
    services = services.VOLUMES

    def members(self, row: Volume) -> Mapping[str, Any]:
        if self.caller.role is not Role.OPERATOR:
            return {"tenants": None}
        return {"tenants": sorted(grant.tenant.name for grant in row.grants.all())}


class SwitchViewSet(NamedResource):
    """Switches of a cluster, above its racks."""

    resource = "switches"
    output = structs.SwitchOut
    inputs = {"create": structs.SwitchCreate, "partial_update": structs.SwitchPatch}
    filters = {"cluster": TextFilter("cluster__name"), "name": TextFilter()}
    etag_prefix = "switch"
    services = services.SWITCHES


class RackViewSet(NamedResource):
    """Racks of a cluster, each below at most one switch."""

    resource = "racks"
    output = structs.RackOut
    inputs = {"create": structs.RackCreate, "partial_update": structs.RackPatch}
    filters = {
        "cluster": TextFilter("cluster__name"),
        "switch": TextFilter("switch__name"),
        "name": TextFilter(),
    }
    etag_prefix = "rack"
    services = services.RACKS
