"""Query parameters of the lists of rounds."""

from clusters.models import Cluster
from jobs.api.filters import NamedFilter
from rest.filters import ChoiceFilter, FilterSet, TextFilter
from scheduling.models import Round


class RoundFilters(FilterSet):
    cluster = NamedFilter(Cluster, "cluster")
    status = ChoiceFilter(Round.Status)
    policy = TextFilter()
