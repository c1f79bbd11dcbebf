"""Query parameters of the lists."""

from clusters.models import Cluster
from jobs.api.filters import NamedFilter
from rest.filters import ChoiceFilter, FilterSet, IntegerFilter
from tenancy.models import Tenant
from whatif.models import Simulation, WorkState


class SimulationFilters(FilterSet):
    tenant = NamedFilter(Tenant, "tenant")
    cluster = NamedFilter(Cluster, "cluster")
    state = ChoiceFilter(WorkState)
    kind = ChoiceFilter(Simulation.Kind)


class ForecastFilters(FilterSet):
    state = ChoiceFilter(WorkState)


class ForecastJobFilters(FilterSet):
    job = IntegerFilter()
