"""Query parameters of the lists of tariffs and carbon series."""

from rest.filters import ChoiceFilter, FilterSet, InstantFilter, TextFilter
from tariffs.models import Tariff


class TariffFilters(FilterSet):
    name = TextFilter()
    kind = ChoiceFilter(Tariff.Kind)


class CarbonSeriesFilters(FilterSet):
    name = TextFilter()


class HourFilters(FilterSet):
    since = InstantFilter("starts_at", lookup_expr="gte")
    until = InstantFilter("starts_at", lookup_expr="lt")
