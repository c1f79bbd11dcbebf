"""Arrays over HTTP."""

from dataclasses import asdict
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.decorators import action
from rest_framework.request import Request

from jobs import selectors, services
from jobs.api import examples, filters, serializers, structs
from jobs.models import Job, JobArray
from rest.views import Answer, CreateMixin, ListMixin, RetrieveMixin


class ArrayViewSet(ListMixin, RetrieveMixin, CreateMixin):
    """Many jobs of one kind, submitted as one; list them with `/jobs/?array=`."""

    resource = "arrays"
    rights = {
        "list": "jobs.read",
        "retrieve": "jobs.read",
        "create": "jobs.submit",
        "cancel": "jobs.cancel",
    }
    output = serializers.ArrayOut
    outputs = {"retrieve": serializers.ArrayDetailOut, "cancel": serializers.ArrayCancelOut}
    inputs = {"create": structs.ArraySubmit}
    examples = examples.ARRAYS
    filterset_class = filters.ArrayFilters

    def rows(self) -> QuerySet[JobArray]:
        return selectors.arrays(self.caller)

    def shown(self, row: Any) -> Any:
        if self.action == "retrieve":
            row.states = dict.fromkeys(Job.State.values, 0) | selectors.array_states(row)
        return super().shown(row)

    def perform_create(self, values: Any) -> JobArray:
        return services.array_submit(caller=self.caller, spec=values, now=timezone.now())

    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Cancel those of the array's jobs that have not ended."""

        def effect() -> Answer:
            done = services.array_cancel(caller=self.caller, array=self.row(), now=timezone.now())
            return Answer(asdict(done))

        return self.write(effect)
