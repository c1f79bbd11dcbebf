"""Arrays over HTTP."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.decorators import action
from rest_framework.request import Request

from jobs import selectors, services
from jobs.api import structs
from jobs.api.filters import NamedFilter
from jobs.models import Job, JobArray
from jobs.specs import ArraySpec
from rest.filters import TextFilter
from rest.structs import show
from rest.views import Answer, CreateMixin, ListMixin, RetrieveMixin
from tenancy.models import Tenant


class ArrayViewSet(ListMixin, RetrieveMixin, CreateMixin):
    """Many jobs of one kind, submitted as one; list them with `/jobs/?array=`."""

    resource = "arrays"
    summaries = {"create": "Submit an array"}
    rights = {
        "list": "jobs.read",
        "retrieve": "jobs.read",
        "create": "jobs.submit",
        "cancel": "jobs.cancel",
    }
    output = structs.ArrayOut
    outputs = {
        "create": structs.ArrayMadeOut,
        "retrieve": structs.ArrayDetailOut,
        "cancel": structs.CancelledOut,
    }
    inputs = {"create": ArraySpec}
    filters = {"tenant": NamedFilter(Tenant, "tenant"), "name": TextFilter()}

    def rows(self) -> QuerySet[JobArray]:
        return selectors.arrays(self.caller)

    def members(self, row: JobArray) -> Mapping[str, Any]:
        if self.action != "retrieve":
            return {}
        return {"states": dict.fromkeys(Job.State.values, 0) | selectors.array_states(row)}

    def perform_create(self, values: ArraySpec) -> JobArray:
        return services.array_submit(caller=self.caller, spec=values, now=timezone.now())

    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Cancel those of the array's jobs that have not ended."""

        def effect() -> Answer:
            done = services.array_cancel(caller=self.caller, array=self.row(), now=timezone.now())
            return Answer(show(structs.CancelledOut, done))

        return self.write(effect)
