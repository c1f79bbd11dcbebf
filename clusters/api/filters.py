"""Query parameters of the lists; things with a name are asked for by it."""

from clusters.models import Node
from policies import registry
from rest.filters import (
    BooleanFilter,
    ChoiceFilter,
    FilterSet,
    IntegerFilter,
    TextFilter,
)


class ClusterFilters(FilterSet):
    name = TextFilter()
    policy = ChoiceFilter(registry.policy_names())
    tariff = TextFilter("tariff__name")
    carbon_series = TextFilter("carbon_series__name")


class PartitionFilters(FilterSet):
    cluster = TextFilter("cluster__name")
    name = TextFilter()
    lends = BooleanFilter()


class SwitchFilters(FilterSet):
    cluster = TextFilter("cluster__name")
    name = TextFilter()


class RackFilters(FilterSet):
    cluster = TextFilter("cluster__name")
    switch = TextFilter("switch__name")
    name = TextFilter()


class GpuTypeFilters(FilterSet):
    name = TextFilter()


class NodeFilters(FilterSet):
    cluster = TextFilter("cluster__name")
    partition = TextFilter("partition__name")
    rack = TextFilter("rack__name")
    gpu_type = TextFilter("gpu_type__name")
    state = ChoiceFilter(Node.State)
    name = TextFilter()


class GpuFilters(FilterSet):
    cluster = TextFilter("node__cluster__name")
    node_id = IntegerFilter()
    gpu_type = TextFilter("node__gpu_type__name")
    uuid = TextFilter()
    healthy = BooleanFilter()


class JoinTokenFilters(FilterSet):
    cluster = TextFilter("cluster__name")
    used = BooleanFilter("used_at", lookup_expr="isnull", exclude=True)
    revoked = BooleanFilter("revoked_at", lookup_expr="isnull", exclude=True)
