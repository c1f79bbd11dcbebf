"""Clusters, partitions, switches and racks in the admin."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from unfold.decorators import action
from unfold.widgets import UnfoldAdminSelectWidget

from clusters import services
from clusters.admin.dialogs import SwitchPolicyForm
from clusters.models import Cluster, Partition, Rack, Switch, Volume, Watch
from policies import registry
from rest.admin import ReadOnlyAdmin, ServiceForm
from rest.admin.dialogs import close_dialog
from tenancy.staff import StaffAdmin

_POLICIES = [(name, name) for name in registry.policy_names()]


class ClusterForm(ServiceForm):
    policy = forms.ChoiceField(
        choices=_POLICIES, initial="fifo-backfill", widget=UnfoldAdminSelectWidget
    )
    shadow_policy = forms.ChoiceField(
        choices=[("", "none"), *_POLICIES], required=False, widget=UnfoldAdminSelectWidget
    )
    energy_period = forms.ChoiceField(
        choices=[("", "none"), *Cluster.EnergyPeriod.choices],
        required=False,
        widget=UnfoldAdminSelectWidget,
        help_text="Begins at midnight in the time zone of the tariff, or UTC.",
    )


@admin.register(Cluster)
class ClusterAdmin(StaffAdmin):
    services = services.CLUSTERS
    form = ClusterForm
    list_display = (
        "name",
        "policy",
        "shadow_policy",
        "nodes",
        "round_interval_s",
        "next_round_at",
        "brake_since_at",
        "pue",
        "power_budget_w",
        "energy_budget_wh",
        "energy_period",
        "power_off",
        "tariff",
        "carbon_series",
    )
    list_filter = ("policy", "shadow_policy", "power_off", "tariff")
    list_select_related = ("tariff", "carbon_series")
    search_fields = ("name",)
    ordering = ("name",)
    fieldsets = (
        (
            None,
            {"fields": ("name", "currency", "max_tardiness_price_per_h", "round_interval_s")},
        ),
        (
            "Policy",
            {"fields": ("policy", "policy_parameters", "shadow_policy", "shadow_parameters")},
        ),
        ("Energy", {"fields": ("tariff", "carbon_series", "pue")}),
        ("Budgets", {"fields": ("power_budget_w", "energy_budget_wh", "energy_period")}),
        ("Nodes", {"fields": ("power_off", "min_idle_s", "exclusive", "network")}),
    )
    actions_detail = ("switch_policy",)
    actions_row = ("switch_policy",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Cluster]:
        rows: QuerySet[Cluster] = super().get_queryset(request)
        return rows.annotate(node_count=Count("node"))

    @admin.display(description="nodes", ordering="node_count")
    def nodes(self, cluster: Any) -> int:
        return int(cluster.node_count)

    @action(  # type: ignore[untyped-decorator]
        description="Switch policy",
        permissions=["change"],
        icon="swap_horiz",
        dialog={
            "title": "Switch policy",
            "description": "Takes effect in the next round.",
            "form_class": SwitchPolicyForm,
            "form_submit_text": "Switch",
        },
    )
    def switch_policy(
        self, request: HttpRequest, form: SwitchPolicyForm, object_id: int
    ) -> HttpResponse:
        cluster, chosen = Cluster.objects.get(pk=object_id), form.cleaned_data
        if (cluster.policy, cluster.policy_parameters) == (chosen["policy"], chosen["parameters"]):
            self.message_user(request, f"{cluster} runs {cluster.policy} as before.")
            return close_dialog("admin:clusters_cluster_change", object_id)
        services.cluster_set_policy(
            caller=self.caller(request),
            cluster=cluster,
            policy=chosen["policy"],
            parameters=chosen["parameters"],
            now=timezone.now(),
        )
        self.message_user(request, f"{cluster} runs {cluster.policy} now.", messages.SUCCESS)
        return close_dialog("admin:clusters_cluster_change", object_id)


@admin.register(Partition)
class PartitionAdmin(StaffAdmin):
    services = services.PARTITIONS
    list_display = ("name", "cluster", "lends", "created_at")
    list_filter = ("cluster", "lends")
    list_select_related = ("cluster",)
    search_fields = ("name", "cluster__name")
    ordering = ("cluster", "name")
    fields = ("cluster", "name", "lends")
    fixed_fields = ("cluster",)


@admin.register(Volume)
class VolumeAdmin(StaffAdmin):
    """Tenants are granted it over the API, or all of them here."""

    services = services.VOLUMES
    list_display = ("name", "cluster", "path", "read_only", "everyone")
    list_filter = ("cluster", "read_only", "everyone")
    list_select_related = ("cluster",)
    search_fields = ("name", "cluster__name", "path")
    ordering = ("cluster", "name")
    fields = ("cluster", "name", "path", "read_only", "everyone")
    fixed_fields = ("cluster", "name")


@admin.register(Switch)
class SwitchAdmin(StaffAdmin):
    services = services.SWITCHES
    list_display = ("name", "cluster")
    list_filter = ("cluster",)
    list_select_related = ("cluster",)
    search_fields = ("name", "cluster__name")
    ordering = ("cluster", "name")
    fields = ("cluster", "name")
    fixed_fields = ("cluster",)


@admin.register(Rack)
class RackAdmin(StaffAdmin):
    services = services.RACKS
    list_display = ("name", "cluster", "switch")
    list_filter = ("cluster", "switch")
    list_select_related = ("cluster", "switch")
    search_fields = ("name", "cluster__name", "switch__name")
    ordering = ("cluster", "name")
    fields = ("cluster", "name", "switch")
    fixed_fields = ("cluster",)


@admin.register(Watch)
class WatchAdmin(ReadOnlyAdmin):
    list_display = ("watched_at", "resumed_at")
