"""Query parameters of the lists."""

from typing import Any

from django.db.models import Model, QuerySet

from clusters.models import Cluster
from jobs.models import Attempt, Job, Profile, ProfilePoint, ProfilingRun
from rest.filters import (
    BooleanFilter,
    ChoiceFilter,
    FilterSet,
    InstantFilter,
    IntegerFilter,
    TextFilter,
)
from tenancy.models import Tenant


class NamedFilter(TextFilter):
    """A reference by its name. The id is looked up first: the planner knows how rare an id is."""

    def __init__(self, model: type[Model], field_name: str) -> None:
        self.named: Any = model
        super().__init__(field_name)

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        if value is None:
            return qs
        found = self.named.objects.filter(name=value).values_list("pk", flat=True).first()
        return qs.none() if found is None else qs.filter(**{str(self.field_name): found})


class ProfileFilter(TextFilter):
    """By name, which several tenants may have given."""

    def filter(self, qs: QuerySet[Any], value: Any) -> QuerySet[Any]:
        if value is None:
            return qs
        found = list(Profile.objects.filter(name=value).values_list("pk", flat=True))
        return qs.filter(profile__in=found)


class JobFilters(FilterSet):
    tenant = NamedFilter(Tenant, "tenant")
    cluster = NamedFilter(Cluster, "cluster")
    state = ChoiceFilter(Job.State)
    name = TextFilter()
    array = IntegerFilter()
    profile = ProfileFilter()
    priority = IntegerFilter()
    submitted_after = InstantFilter("submitted_at", lookup_expr="gte")
    submitted_before = InstantFilter("submitted_at", lookup_expr="lt")


class ArrayFilters(FilterSet):
    tenant = NamedFilter(Tenant, "tenant")
    name = TextFilter()


class ProfileFilters(FilterSet):
    tenant = NamedFilter(Tenant, "tenant")
    name = TextFilter()


class PointFilters(FilterSet):
    gpu_type = TextFilter()
    source = ChoiceFilter(ProfilePoint.Source)
    accepted = BooleanFilter()


class ProfilingFilters(FilterSet):
    state = ChoiceFilter(ProfilingRun.State)


class AttemptFilters(FilterSet):
    tenant = NamedFilter(Tenant, "tenant")
    cluster = NamedFilter(Cluster, "cluster")
    job = IntegerFilter()
    state = ChoiceFilter(Attempt.State)


class GpuQuotaFilters(FilterSet):
    tenant_id = IntegerFilter()
    gpu_type = TextFilter("gpu_type__name")


class BoundedFilter(IntegerFilter):
    """A whole number from 1 to `most`."""

    def __init__(self, most: int, default: int, **kwargs: Any) -> None:
        self.most, self.default = most, default
        self.schema = {"type": "integer", "minimum": 1, "maximum": most, "default": default}
        super().__init__(**kwargs)

    def read(self, text: str) -> int:
        number = super().read(text)
        if not 1 <= number <= self.most:
            raise ValueError(f"Must be 1 to {self.most}.")
        return number


LIMIT = BoundedFilter(1000, 100)


ROUNDS = BoundedFilter(1000, 100)
