"""Query parameters of the lists."""

from rest.filters import (
    BooleanFilter,
    ChoiceFilter,
    FilterSet,
    InstantFilter,
    IntegerFilter,
    TextFilter,
)
from tenancy.models import MembershipRole
from tenancy.roles import Role


class TenantFilters(FilterSet):
    name = TextFilter()
    suspended = BooleanFilter()


class MembershipFilters(FilterSet):
    tenant_id = IntegerFilter()
    role = ChoiceFilter(MembershipRole)


class TokenFilters(FilterSet):
    tenant_id = IntegerFilter()
    role = ChoiceFilter(list(Role))
    revoked = BooleanFilter("revoked_at", lookup_expr="isnull", exclude=True)


class AuditFilters(FilterSet):
    tenant_id = IntegerFilter()
    token_id = IntegerFilter()
    action = TextFilter()
    object_type = TextFilter()
    object_id = IntegerFilter()
    since = InstantFilter("at", lookup_expr="gte")
    until = InstantFilter("at", lookup_expr="lt")
