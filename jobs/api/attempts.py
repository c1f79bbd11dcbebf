"""Attempts over HTTP, to look at."""

from typing import Any

from django.db.models import QuerySet

from jobs import selectors
from jobs.api import examples, filters, serializers
from jobs.models import Attempt
from rest.views import ListMixin, RetrieveMixin


class AttemptViewSet(ListMixin, RetrieveMixin):
    """Tries at jobs, with the GPUs that each holds or held."""

    resource = "attempts"
    rights = {"list": "jobs.read", "retrieve": "jobs.read"}
    output = serializers.AttemptOut
    outputs = {"retrieve": serializers.AttemptDetailOut}
    examples = examples.ATTEMPTS
    filterset_class = filters.AttemptFilters

    def rows(self) -> QuerySet[Attempt]:
        return selectors.attempts(self.caller)

    def shown(self, row: Any) -> Any:
        if self.action == "retrieve":
            row.allocations = selectors.allocations(row)
        return super().shown(row)
