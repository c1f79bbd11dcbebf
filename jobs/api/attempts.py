"""Attempts over HTTP, to look at."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

from clusters.models import Cluster
from jobs import selectors
from jobs.api import structs
from jobs.api.filters import NamedFilter
from jobs.models import Attempt
from rest.filters import ChoiceFilter, IntegerFilter
from rest.views import ListMixin, RetrieveMixin
from tenancy.models import Tenant


class AttemptViewSet(ListMixin, RetrieveMixin):
    """Tries at jobs, with the GPUs that each holds or held."""

    resource = "attempts"
    rights = {"list": "jobs.read", "retrieve": "jobs.read"}
    output = structs.AttemptOut
    outputs = {"retrieve": structs.AttemptDetailOut}
    filters = {
        "tenant": NamedFilter(Tenant, "tenant"),
        "cluster": NamedFilter(Cluster, "cluster"),
        "job": IntegerFilter(),
        "state": ChoiceFilter(Attempt.State),
    }

    def rows(self) -> QuerySet[Attempt]:
        return selectors.attempts(self.caller)

    def members(self, row: Attempt) -> Mapping[str, Any]:
        return {"allocations": selectors.allocations(row)} if self.action == "retrieve" else {}
