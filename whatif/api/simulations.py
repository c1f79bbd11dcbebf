"""Simulations over HTTP: ask, read, cancel, and the results."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from msgspec import to_builtins
from rest_framework.decorators import action
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from clusters.models import Cluster
from jobs.api.filters import NamedFilter
from rest.filters import ChoiceFilter
from rest.json import JSONRenderer
from rest.problems import Conflict
from rest.schema import AutoSchema
from rest.structs import show
from rest.views import Answer, CreateMixin, ListMixin, RetrieveMixin, respond
from tenancy.models import Tenant
from whatif import selectors, services
from whatif.api import structs
from whatif.models import Simulation, WorkState

HTML = "text/html"
PAGE = '<!doctype html>\n<html lang="en"><head><title>fifo or las?</title></head>…</html>\n'
# The page carries its own script and style and needs nothing else; names in it are callers' texts.
PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; sandbox allow-scripts",
    "X-Content-Type-Options": "nosniff",
}


class PageRenderer(BaseRenderer):
    """Only takes part in negotiation; the page is stored as it is sent."""

    media_type = HTML
    format = "html"


class SimulationSchema(AutoSchema):
    """The report is a page; neither it nor the results are there from the start."""

    def _get_response_bodies(self, direction: Any = "response") -> dict[str, Any]:
        responses = super()._get_response_bodies(direction)
        if self.action in {"results", "report"} and direction == "response":
            responses["409"] = {**responses["404"], "description": "There are no results."}
        if self.action == "report" and direction == "response":
            page = {"schema": {"type": "string"}, "example": PAGE}
            responses["200"]["content"] = {HTML: page}
        return responses


class SimulationViewSet(ListMixin, RetrieveMixin, CreateMixin):
    """Runs of policies on a trace or on the live queue, in a world of their own."""

    resource = "simulations"
    rights = {
        "list": "simulations.read",
        "retrieve": "simulations.read",
        "create": "simulations.write",
        "cancel": "simulations.write",
        "results": "simulations.read",
        "report": "simulations.read",
    }
    output = structs.SimulationOut
    outputs = {
        "retrieve": structs.SimulationDetailOut,
        "results": structs.ResultsOut,
    }
    inputs = {"create": structs.SimulationCreate}
    filters = {
        "tenant": NamedFilter(Tenant, "tenant"),
        "cluster": NamedFilter(Cluster, "cluster"),
        "state": ChoiceFilter(WorkState),
        "kind": ChoiceFilter(Simulation.Kind),
    }
    schema = SimulationSchema()

    def rows(self) -> QuerySet[Simulation]:
        return selectors.simulations(self.caller)

    def members(self, row: Simulation) -> Mapping[str, Any]:
        return {"runs": selectors.runs(row)} if self.action == "retrieve" else {}

    def perform_create(self, values: structs.SimulationCreate) -> Simulation:
        asked, now = to_builtins(values), timezone.now()
        return services.simulation_create(caller=self.caller, values=asked, now=now)

    @action(detail=True, methods=["post"])
    def cancel(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Stop a simulation; what it has found so far is thrown away."""

        def effect() -> Answer:
            chosen, now = int(self.kwargs["id"]), timezone.now()
            row = services.simulation_cancel(caller=self.caller, simulation_id=chosen, now=now)
            return self.answer(row)

        return self.write(effect)

    @action(detail=True, methods=["get"])
    def results(self, request: Request, **kwargs: Any) -> HttpResponse:
        """The figures of every run; 409 until there are some."""
        found = _ended(self.row()).results
        return respond(Answer(show(structs.ResultsOut, found)))

    @action(detail=True, methods=["get"], renderer_classes=[PageRenderer, JSONRenderer])
    def report(self, request: Request, **kwargs: Any) -> HttpResponse:
        """One page with tables and interactive plots, which needs nothing but itself."""
        page = bytes(_ended(self.row()).report or b"")
        return HttpResponse(page, content_type=f"{HTML}; charset=utf-8", headers=PAGE_HEADERS)


def _ended(simulation: Simulation) -> Simulation:
    if simulation.results is None:
        detail = f"The simulation is {simulation.state}; there are no results."
        raise Conflict(detail, code="no_results")
    return simulation
