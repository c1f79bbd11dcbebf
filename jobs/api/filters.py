"""Query parameters of the lists."""

from typing import Any

from django.db.models import QuerySet

from clusters.models import Cluster
from jobs.models import Attempt, Job, Profile, Round
from rest.filters import ChoiceFilter, FilterSet, InstantFilter, IntegerFilter, TextFilter
from tenancy.models import Tenant


class ClusterFilter(TextFilter):
    """By name; the id is looked up first, so that the list's own index still leads the plan."""

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        found = Cluster.objects.filter(name=value).values("pk")[:1]
        return qs if value is None else qs.filter(cluster=found)


class TenantFilter(TextFilter):
    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        found = Tenant.objects.filter(name=value).values("pk")[:1]
        return qs if value is None else qs.filter(tenant=found)


class ProfileFilter(TextFilter):
    """By name, which several tenants may have given."""

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        found = Profile.objects.filter(name=value).values("pk")
        return qs if value is None else qs.filter(profile__in=found)


class JobFilters(FilterSet):
    tenant = TenantFilter()
    cluster = ClusterFilter()
    state = ChoiceFilter(Job.State)
    name = TextFilter()
    array = IntegerFilter()
    profile = ProfileFilter()
    priority = IntegerFilter()
    submitted_after = InstantFilter("submitted_at", lookup_expr="gte")
    submitted_before = InstantFilter("submitted_at", lookup_expr="lt")


class ArrayFilters(FilterSet):
    tenant = TenantFilter()
    name = TextFilter()


class ProfileFilters(FilterSet):
    tenant = TenantFilter()
    name = TextFilter()


class AttemptFilters(FilterSet):
    tenant = TenantFilter()
    cluster = ClusterFilter()
    job = IntegerFilter()
    state = ChoiceFilter(Attempt.State)


class RoundFilters(FilterSet):
    cluster = ClusterFilter()
    status = ChoiceFilter(Round.Status)
    policy = TextFilter()
