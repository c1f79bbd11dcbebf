"""The admin's tables in the order of work: what one acts on first, what one looks up after it."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from rest.labels import spelt

GROUPS: dict[str, tuple[str, ...]] = {
    "Site": (
        "clusters.Cluster", "clusters.Node", "clusters.Gpu", "clusters.JoinToken",
        "clusters.Partition", "clusters.Rack", "clusters.Switch", "clusters.GpuType",
        "clusters.Volume", "clusters.Watch",
    ),
    "Queue": (
        "jobs.Job", "jobs.JobArray", "jobs.Attempt", "jobs.Log", "jobs.JobEvent",
        "scheduling.Round", "scheduling.Decision", "whatif.Simulation", "whatif.Forecast",
        "whatif.ForecastJob", "jobs.Profile", "jobs.ProfilePoint", "jobs.ProfileFit",
        "jobs.ProfilingRun",
    ),
    "Energy": (
        "energy.PowerBudget", "energy.PowerState", "energy.PowerBreach", "tariffs.Tariff",
        "tariffs.TariffHour", "tariffs.CarbonSeries", "tariffs.CarbonHour", "energy.LedgerRow",
        "energy.Meter", "energy.SampleMinute", "energy.GpuCounter", "energy.Boot",
    ),
    "People": (
        "tenancy.Tenant", "jobs.GpuQuota", "tenancy.Membership", "auth.User", "auth.Group",
        "tenancy.ApiToken", "tenancy.Secret", "tenancy.AuditRow", "tenancy.AuditSeal",
        "webhooks.Webhook", "webhooks.WebhookDelivery", "storage.Blob", "storage.Upload",
    ),
}  # fmt: skip


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """What the sidebar shows: of every group the tables that the person may look at."""
    seen = {
        model["model"]._meta.label: model
        for app in admin.site.get_app_list(request)
        for model in app["models"]
    }
    return [
        {
            "title": group,
            "collapsible": True,
            "items": [
                {"title": spelt(str(seen[label]["name"])), "link": seen[label]["admin_url"]}
                for label in labels
                if label in seen and seen[label]["admin_url"]
            ],
        }
        for group, labels in GROUPS.items()
    ]
