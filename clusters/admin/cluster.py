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
from clusters.admin.base import ServiceAdmin, Values
from clusters.admin.dialogs import SwitchPolicyForm
from clusters.admin.forms import ServiceForm
from clusters.models import Cluster, Partition, Rack, Switch, Watch
from policies import registry
from rest.admin.dialogs import close_dialog
from tenancy.admin import ReadOnlyAdmin, caller_of
from tenancy.callers import Caller

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
class ClusterAdmin(ServiceAdmin):
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
        "tariff",
        "carbon_series",
    )
    list_filter = ("policy", "shadow_policy", "tariff")
    list_select_related = ("tariff", "carbon_series")
    search_fields = ("name",)
    ordering = ("name",)
    fieldsets = (
        (None, {"fields": ("name", "currency", "round_interval_s")}),
        (
            "Policy",
            {"fields": ("policy", "policy_parameters", "shadow_policy", "shadow_parameters")},
        ),
        ("Energy", {"fields": ("tariff", "carbon_series", "pue")}),
        ("Budgets", {"fields": ("power_budget_w", "energy_budget_wh", "energy_period")}),
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
        cluster = services.cluster_set_policy(
            caller=caller_of(request),
            cluster=Cluster.objects.get(pk=object_id),
            policy=form.cleaned_data["policy"],
            parameters=form.cleaned_data["policy_parameters"],
            now=timezone.now(),
        )
        self.message_user(request, f"{cluster} runs {cluster.policy} now.", messages.SUCCESS)
        return close_dialog("admin:clusters_cluster_change", object_id)

    def perform_create(self, caller: Caller, values: Values) -> Cluster:
        return services.cluster_create(caller=caller, values=values)

    def perform_update(self, caller: Caller, row: Cluster, changes: Values) -> Cluster:
        now = timezone.now()
        return services.cluster_update(caller=caller, cluster=row, changes=changes, now=now)

    def perform_delete(self, caller: Caller, row: Cluster) -> None:
        services.cluster_delete(caller=caller, cluster=row)


@admin.register(Partition)
class PartitionAdmin(ServiceAdmin):
    list_display = ("name", "cluster", "lends", "created_at")
    list_filter = ("cluster", "lends")
    list_select_related = ("cluster",)
    search_fields = ("name", "cluster__name")
    ordering = ("cluster", "name")
    fields = ("cluster", "name", "lends")
    fixed_fields = ("cluster",)

    def perform_create(self, caller: Caller, values: Values) -> Partition:
        return services.partition_create(caller=caller, **values)

    def perform_update(self, caller: Caller, row: Partition, changes: Values) -> Partition:
        return services.partition_update(caller=caller, partition=row, changes=changes)

    def perform_delete(self, caller: Caller, row: Partition) -> None:
        services.partition_delete(caller=caller, partition=row)


@admin.register(Switch)
class SwitchAdmin(ServiceAdmin):
    list_display = ("name", "cluster")
    list_filter = ("cluster",)
    list_select_related = ("cluster",)
    search_fields = ("name", "cluster__name")
    ordering = ("cluster", "name")
    fields = ("cluster", "name")
    fixed_fields = ("cluster",)

    def perform_create(self, caller: Caller, values: Values) -> Switch:
        return services.switch_create(caller=caller, **values)

    def perform_update(self, caller: Caller, row: Switch, changes: Values) -> Switch:
        return services.switch_update(caller=caller, switch=row, changes=changes)

    def perform_delete(self, caller: Caller, row: Switch) -> None:
        services.switch_delete(caller=caller, switch=row)


@admin.register(Rack)
class RackAdmin(ServiceAdmin):
    list_display = ("name", "cluster", "switch")
    list_filter = ("cluster", "switch")
    list_select_related = ("cluster", "switch")
    search_fields = ("name", "cluster__name", "switch__name")
    ordering = ("cluster", "name")
    fields = ("cluster", "name", "switch")
    fixed_fields = ("cluster",)

    def perform_create(self, caller: Caller, values: Values) -> Rack:
        return services.rack_create(caller=caller, **values)

    def perform_update(self, caller: Caller, row: Rack, changes: Values) -> Rack:
        return services.rack_update(caller=caller, rack=row, changes=changes)

    def perform_delete(self, caller: Caller, row: Rack) -> None:
        services.rack_delete(caller=caller, rack=row)


@admin.register(Watch)
class WatchAdmin(ReadOnlyAdmin):
    list_display = ("watched_at", "resumed_at")
