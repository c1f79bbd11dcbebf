"""Demand response over HTTP: ask what a power budget would do, order it, and see that it held."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from energy.budgets.proof import proof
from energy.budgets.watch import request_round
from energy.models import PowerBudget
from energy.services.power_budgets import (
    power_budget_draft,
    power_budget_order,
    power_budget_withdraw,
)
from rest.structs import given
from rest.views import Answer, DestroyMixin, ListMixin, RetrieveMixin
from whatif.api import power_structs as structs
from whatif.api.forecasts import cluster_or_404
from whatif.budget_response import estimate


class PowerBudgetViewSet(ListMixin, RetrieveMixin, DestroyMixin):
    """Watts that a cluster, or one of its partitions, may draw for a time; the smallest counts.

    A POST is a question unless `dry_run` is false: the answer says which watts can be shed, by
    when, and how much later jobs would end. Deleting one that has begun ends it now.
    """

    moves_without_version = True

    resource = "power_budgets"
    rights = {
        "list": "power.read",
        "retrieve": "power.read",
        "create": "power.write",
        "destroy": "power.write",
    }
    output = structs.PowerBudgetOut
    outputs = {"retrieve": structs.PowerBudgetProofOut}
    inputs = {"create": structs.PowerBudgetIn}
    # A question makes nothing; an order says where it is.
    statuses = {"create": 200}
    etag_prefix = "power-budget"

    def rows(self) -> QuerySet[PowerBudget]:
        cluster = cluster_or_404(self.kwargs["cluster_id"])
        rows = PowerBudget.objects.filter(cluster=cluster)
        return rows.select_related("cluster", "partition")

    def create(self, request: Request, **kwargs: Any) -> HttpResponse:
        values = given(self.input())
        only_asked = values.pop("dry_run")
        cluster, now = cluster_or_404(kwargs["cluster_id"]), timezone.now()
        row = power_budget_draft(cluster=cluster, values=values, now=now)
        row.estimate = estimate(row, now=now)

        def effect() -> Answer:
            if only_asked:
                return Answer(self.shown(row))
            ordered = power_budget_order(caller=self.caller, row=row)
            request_round(cluster.pk, now)
            location = f"{request.path.rstrip('/')}/{ordered.pk}/"
            answer = self.answer(ordered)
            return Answer(answer.body, 200, {**answer.headers, "Location": location})

        return self.write(effect)

    def members(self, row: PowerBudget) -> Mapping[str, Any]:
        """What was measured grows by the minute; the version counts what was ordered."""
        return {"proof": proof(row, now=timezone.now())} if self.action == "retrieve" else {}

    def perform_destroy(self, row: PowerBudget) -> None:
        now = timezone.now()
        power_budget_withdraw(caller=self.caller, row=row, now=now)
        request_round(row.cluster_id, now)
