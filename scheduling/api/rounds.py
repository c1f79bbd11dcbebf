"""Rounds, what they decided, and how the shadow would have done."""

from typing import Any

from django.db.models import F, QuerySet
from django.http import HttpResponse
from rest_framework.decorators import action
from rest_framework.request import Request

from clusters.models import Cluster
from jobs.api.filters import LIMIT, ROUNDS, NamedFilter
from rest.filters import ChoiceFilter, IntegerFilter, TextFilter
from rest.problems import NotFound
from rest.structs import show
from rest.views import Answer, JSONView, ListMixin, RetrieveMixin, respond
from scheduling.api import structs
from scheduling.decisions import decisions
from scheduling.models import Round
from scheduling.shadow_report import shadow_report


class RoundViewSet(ListMixin, RetrieveMixin):
    """Runs of a policy, with milliseconds per step."""

    resource = "rounds"
    rights = {"list": "rounds.read", "retrieve": "rounds.read", "decisions": "decisions.read"}
    output = structs.RoundOut
    outputs = {"decisions": structs.DecisionPage}
    query_parameters = {"decisions": {"limit": LIMIT, "cursor": IntegerFilter()}}
    filters = {
        "cluster": NamedFilter(Cluster, "cluster"),
        "status": ChoiceFilter(Round.Status),
        "policy": TextFilter(),
    }

    def rows(self) -> QuerySet[Round]:
        """Without the stored snapshot and plan, which are megabytes."""
        rows = Round.objects.annotate(cluster_name=F("cluster__name"))
        return rows.defer("snapshot", "plan")

    @action(detail=True, methods=["get"])
    def decisions(self, request: Request, **kwargs: Any) -> HttpResponse:
        """What the round said about each job, by job. Tenants see the entries of their own jobs."""
        asked = self.query()
        limit = asked.get("limit", LIMIT.default)
        entry = Round.objects.filter(pk=int(self.kwargs["id"])).defer("snapshot").first()
        if entry is None:
            raise NotFound
        found = decisions(self.caller, entry, after=asked.get("cursor", 0), limit=limit + 1)
        page = found[:limit]
        body = {"items": page, "next": str(page[-1].job_id) if len(found) > limit else None}
        return respond(Answer(show(structs.DecisionPage, body)))


class ShadowView(JSONView):
    """How the cluster's shadow policy would have done in the last rounds."""

    resource = "shadow"
    rights = {"get": "rounds.read"}
    output = structs.ShadowOut
    query_parameters = {"get": {"rounds": ROUNDS}}

    def get(self, request: Request, cluster_id: str) -> HttpResponse:
        cluster = Cluster.objects.filter(pk=int(cluster_id)).first()
        if cluster is None:
            raise NotFound
        report = shadow_report(cluster, rounds=self.query().get("rounds", ROUNDS.default))
        return respond(Answer(show(structs.ShadowOut, report)))
