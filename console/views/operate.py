"""What operators do: switch a policy, budget power, drain a node."""

from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone

from clusters import policy_form
from clusters.models import Cluster
from clusters.selectors import clusters, nodes
from clusters.services.clusters import cluster_set_policy
from clusters.services.draining import node_drain, node_resume
from console import power_order
from console.pages import acts, reads, show
from console.query import choice
from energy.budgets.watch import request_round
from energy.models import PowerBudget
from energy.services.power_budgets import power_budget_order, power_budget_withdraw
from policies import registry
from rest.problems import Problem
from tenancy.callers import Caller
from whatif.budget_response import estimate

BUDGETS_SHOWN = 20


@reads("clusters.write")
def policy(request: HttpRequest, caller: Caller, cluster_id: int) -> HttpResponse:
    cluster = _cluster(cluster_id)
    name = choice(request, "policy", list(registry.policy_names())) or cluster.policy
    return show(request, caller, "policy.html", _policy(cluster, name))


def _policy(cluster: Cluster, name: str) -> dict[str, Any]:
    policies = [(each, registry.summary(each)) for each in registry.policy_names()]
    return {
        "cluster": cluster,
        "name": name,
        "summary": registry.summary(name),
        "policies": policies,
        "fields": policy_form.fields(name, _stored(cluster, name)),
    }


def _stored(cluster: Cluster, name: str) -> dict[str, Any]:
    return cluster.policy_parameters if name == cluster.policy else {}


@acts("clusters.write", whole=False)
def set_policy(request: HttpRequest, caller: Caller, cluster_id: int) -> HttpResponse:
    cluster, name = _cluster(cluster_id), request.POST.get("policy", "")
    if name not in registry.policy_names():
        name = cluster.policy
    try:
        sent = policy_form.parameters(name, request.POST.dict(), _stored(cluster, name))
        with transaction.atomic():
            cluster_set_policy(
                caller=caller, cluster=cluster, policy=name, parameters=sent, now=timezone.now()
            )
    except Problem as problem:
        context = {**_policy(cluster, name), "problem": problem}
        return show(request, caller, "policy.html", context, problem.status_code)
    messages.success(request, f"{cluster.name} plans with {name} from its next round on.")
    return HttpResponseRedirect(reverse("console:site"))


@reads("power.read")
def power(request: HttpRequest, caller: Caller, cluster_id: int) -> HttpResponse:
    return show(request, caller, "power.html", _power(_cluster(cluster_id)))


def _power(cluster: Cluster) -> dict[str, Any]:
    now = timezone.now()
    rows = PowerBudget.objects.filter(cluster=cluster).select_related("partition").order_by("-pk")
    night = power_order.tonight(cluster, now=now)
    return {"cluster": cluster, "budgets": rows[:BUDGETS_SHOWN], "tonight": night}


@acts("power.write", whole=False)
def order_power(request: HttpRequest, caller: Caller, cluster_id: int) -> HttpResponse:
    """Asked first what it would do, unless the form says to order it."""
    cluster, now = _cluster(cluster_id), timezone.now()
    try:
        row = power_order.draft(cluster, request.POST.dict(), now=now)
        row.estimate = estimate(row, now=now)
        if request.POST.get("do") == "order":
            with transaction.atomic():
                power_budget_order(caller=caller, row=row)
    except Problem as problem:
        context = {**_power(cluster), "problem": problem, "sent": request.POST}
        return show(request, caller, "power.html", context, problem.status_code)
    if row.pk is None:
        context = {**_power(cluster), "asked": row, "sent": request.POST}
        return show(request, caller, "power.html", context)
    request_round(cluster.pk, now)
    messages.success(request, f"{cluster.name} may draw {row.watts} W.")
    return HttpResponseRedirect(reverse("console:power", args=[cluster.pk]))


@acts("power.write")
def withdraw_power(request: HttpRequest, caller: Caller, budget_id: int) -> HttpResponse:
    row, now = get_object_or_404(PowerBudget, pk=budget_id), timezone.now()
    power_budget_withdraw(caller=caller, row=row, now=now)
    request_round(row.cluster_id, now)
    messages.success(request, "The budget is withdrawn.")
    return HttpResponseRedirect(reverse("console:power", args=[row.cluster_id]))


@acts("nodes.write")
def drain(request: HttpRequest, caller: Caller, node_id: int) -> HttpResponse:
    row = get_object_or_404(nodes(), pk=node_id)
    reason = request.POST.get("reason", "").strip()[:200] or "drained in the console"
    node_drain(caller=caller, node=row, reason=reason, now=timezone.now())
    messages.success(request, f"{row.name} gets no new work.")
    return HttpResponseRedirect(reverse("console:node", args=[node_id]))


@acts("nodes.write")
def resume(request: HttpRequest, caller: Caller, node_id: int) -> HttpResponse:
    row = get_object_or_404(nodes(), pk=node_id)
    node_resume(caller=caller, node=row, now=timezone.now())
    messages.success(request, f"{row.name} gets work again.")
    return HttpResponseRedirect(reverse("console:node", args=[node_id]))


def _cluster(cluster_id: int) -> Cluster:
    return get_object_or_404(clusters(), pk=cluster_id)
