"""The admin's first page: the site in a few figures, and what is wrong with it."""

from datetime import datetime
from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from rest.quantities import money, watts
from scheduling.site import (
    Alarm,
    ClusterFigures,
    alarms,
    cluster_figures,
    day_totals,
    queue_figures,
)
from tenancy.callers import Caller
from tenancy.staff import caller_of

# Whoever may look at these tables may see their sums.
_RIGHTS = ("clusters.view_node", "jobs.view_job", "energy.view_ledgerrow")


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    if not request.user.has_perms(_RIGHTS):
        return context
    return {**context, "site": site(caller_of(request), now=timezone.now())}


def site(caller: Caller, *, now: datetime) -> dict[str, Any]:
    queue = queue_figures(caller)
    return {
        "clusters": [_cluster(figures) for figures in cluster_figures(now=now)],
        "states": [(state, queue["states"].get(state, 0)) for state in ("running", "queued")],
        "reasons": queue["reasons"],
        "today": [_day(row) for row in day_totals(caller, now=now)],
        "alarms": [(alarm, _link(alarm)) for alarm in alarms(now=now)],
    }


def _cluster(figures: ClusterFigures) -> dict[str, Any]:
    share = figures.budget_share
    return {
        "name": figures.cluster.name,
        "link": reverse("admin:clusters_cluster_change", args=[figures.cluster.pk]),
        "policy": figures.cluster.policy,
        "gpus": f"{figures.in_use:,} of {figures.gpus:,}",
        "watts": watts(figures.watts),
        "budget": "no budget" if figures.budget_w is None else f"of {watts(figures.budget_w)}",
        "percent": None if share is None else round(100 * share),
    }


def _day(row: dict[str, Any]) -> dict[str, str]:
    """The ledger's sums of one currency."""
    return {
        "money": money(row["total_cost"] or 0, row["currency"]),
        "energy": f"{row['total_kwh']:,.2f} kWh",
        "carbon": f"{(row['total_carbon_g'] or 0) / 1000:,.2f} kg CO₂",
    }


def _link(alarm: Alarm) -> str:
    if alarm.node_id is not None:
        return reverse("admin:clusters_node_change", args=[alarm.node_id])
    if alarm.round_id is not None:
        return reverse("admin:scheduling_round_change", args=[alarm.round_id])
    return ""
