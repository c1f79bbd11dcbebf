"""GPU types, nodes and GPUs in the admin."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from unfold.admin import TabularInline
from unfold.contrib.filters.admin import RelatedDropdownFilter
from unfold.decorators import display
from unfold.widgets import UnfoldAdminIntegerFieldWidget, UnfoldAdminSelectWidget

from clusters import services
from clusters.models import Gpu, GpuType, Node
from rest.admin import ServiceForm
from rest.services import Values
from tenancy.callers import Caller
from tenancy.staff import StaffAdmin

STATE_LABELS = {
    "joining": "info",
    "ready": "success",
    "draining": "warning",
    "drained": "warning",
    "lost": "danger",
    "off": "info",
    "quarantined": "danger",
}


@admin.register(GpuType)
class GpuTypeAdmin(StaffAdmin):
    services = services.GPU_TYPES
    list_display = ("name", "memory_mib", "idle_w", "max_w", "clocks_mhz")
    search_fields = ("name",)
    ordering = ("name",)
    fields = ("name", "memory_mib", "idle_w", "max_w", "clocks_mhz")
    fixed_fields = ("name",)


class NodeAddForm(ServiceForm):
    gpu_count = forms.IntegerField(
        min_value=1, max_value=64, initial=8, widget=UnfoldAdminIntegerFieldWidget
    )
    state = forms.ChoiceField(
        choices=[("joining", "joining: its agent makes it ready"), ("ready", "ready at once")],
        widget=UnfoldAdminSelectWidget,
    )


class GpuInline(TabularInline):  # type: ignore[misc]
    """Health may be set here; the devices themselves are what the node has."""

    model = Gpu
    fields = ("index", "uuid", "healthy", "health_reason", "fault", "remark")
    readonly_fields = ("index", "uuid", "fault", "remark")
    formfield_overrides = StaffAdmin.formfield_overrides
    ordering = ("index",)
    extra = 0
    max_num = 0
    can_delete = False

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        field = super().formfield_for_dbfield(db_field, request, **kwargs)
        if field is not None:
            field.required = False
        return field


class NodeAdmin(StaffAdmin):
    """Registered by energy/admin/nodes.py, which knows what nodes draw and who holds them."""

    services = services.NODES
    list_filter = (
        "state",
        ("cluster", RelatedDropdownFilter),
        ("partition", RelatedDropdownFilter),
        ("gpu_type", RelatedDropdownFilter),
        ("rack", RelatedDropdownFilter),
    )
    list_select_related = ("cluster", "partition", "rack", "gpu_type")
    search_fields = ("name", "cluster__name", "rack__name", "gpu__uuid")
    ordering = ("cluster", "name")
    list_per_page = 100
    fixed_fields = ("cluster", "name", "gpu_type")
    _chosen = ("cluster", "name", "gpu_type", "partition", "rack")
    _size = ("cpus", "memory_mib", "host_idle_w", "host_peak_w")
    _seen = (
        "state",
        "state_reason",
        "cpus_used",
        "memory_used_mib",
        "last_sync_at",
        "losses",
        "address",
        "driver",
        "agent_version",
        "epoch",
        "boot_id",
        "container_tool",
        "wall",
        "workloads",
        "git",
        "features",
        "samples_refused",
        "samples_shed",
        "updated_at",
    )
    actions = ("drain", "resume")

    def get_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        if obj is None:
            return (*self._chosen, *self._size, "gpu_count", "state")
        return (*self._chosen, *self._size, *self._seen)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        seen = self._seen if obj else ()
        return (*super().get_readonly_fields(request, obj), *seen)

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> type[ServiceForm]:
        kwargs["form"] = ServiceForm if obj else NodeAddForm
        return super().get_form(request, obj, change, **kwargs)

    def get_inlines(self, request: HttpRequest, obj: Any) -> tuple[type[GpuInline], ...]:
        return (GpuInline,) if obj else ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Node]:
        rows: QuerySet[Node] = super().get_queryset(request)
        return rows.annotate(
            gpu_total=Count("gpu"), gpu_healthy=Count("gpu", filter=Q(gpu__healthy=True))
        )

    @display(description="state", ordering="state", label=STATE_LABELS)  # type: ignore[untyped-decorator]
    def shown_state(self, node: Node) -> str:
        return node.state

    @admin.display(description="GPUs in use", ordering="gpus_in_use")
    def gpus_held(self, node: Any) -> str:
        return f"{node.gpus_in_use} / {node.gpu_total}"

    @admin.display(description="healthy GPUs")
    def gpus_healthy(self, node: Any) -> str:
        return f"{node.gpu_healthy} / {node.gpu_total}"

    @admin.display(description="CPUs in use", ordering="cpus_used")
    def cpus_in_use(self, node: Node) -> str:
        return f"{node.cpus_used} / {node.cpus}"

    @admin.display(description="GiB in use", ordering="memory_used_mib")
    def memory_in_use(self, node: Node) -> str:
        return f"{node.memory_used_mib // 1024} / {node.memory_mib // 1024}"

    @admin.action(description="Drain: no new work", permissions=["change"])
    def drain(self, request: HttpRequest, queryset: QuerySet[Node]) -> None:
        caller, now = self.caller(request), timezone.now()
        reason = f"drained in the admin by {request.user}"
        self.for_each(
            request,
            queryset,
            "Draining",
            lambda node: services.node_drain(caller=caller, node=node, reason=reason, now=now),
        )

    @admin.action(description="Resume: may have work", permissions=["change"])
    def resume(self, request: HttpRequest, queryset: QuerySet[Node]) -> None:
        caller, now = self.caller(request), timezone.now()
        self.for_each(
            request,
            queryset,
            "Ready again",
            lambda node: services.node_resume(caller=caller, node=node, now=now),
        )

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        formset.save(commit=False)
        for gpu, changed in formset.changed_objects:
            changes = {name: getattr(gpu, name) for name in changed}
            services.gpu_update(self.caller(request), Gpu.objects.get(pk=gpu.pk), changes)


@admin.register(Gpu)
class GpuAdmin(StaffAdmin):
    list_display = ("uuid", "node", "index", "healthy", "health_reason", "fault", "remark")
    list_filter = ("healthy", "node__cluster", "node__gpu_type")
    list_select_related = ("node",)
    search_fields = ("uuid", "node__name")
    ordering = ("node", "index")
    fields = ("uuid", "node", "index", "healthy", "health_reason", "fault", "remark")
    readonly_fields = ("uuid", "node", "index", "fault", "remark")
    actions = ("mark_healthy", "mark_unhealthy")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.action(description="Mark healthy", permissions=["change"])
    def mark_healthy(self, request: HttpRequest, queryset: QuerySet[Gpu]) -> None:
        self._mark(request, queryset, {"healthy": True, "health_reason": ""})

    @admin.action(description="Mark unhealthy: no new work", permissions=["change"])
    def mark_unhealthy(self, request: HttpRequest, queryset: QuerySet[Gpu]) -> None:
        reason = f"marked in the admin by {request.user}"
        self._mark(request, queryset, {"healthy": False, "health_reason": reason})

    def _mark(self, request: HttpRequest, queryset: QuerySet[Gpu], changes: Values) -> None:
        caller = self.caller(request)
        self.for_each(
            request,
            queryset,
            "GPUs marked",
            lambda gpu: services.gpu_update(caller, gpu, changes),
        )

    def perform_update(self, caller: Caller, row: Gpu, changes: Values) -> Gpu:
        return services.gpu_update(caller, row, changes)
