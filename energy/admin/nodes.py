"""Nodes in the admin, with what they draw and who holds their GPUs."""

from collections import defaultdict
from typing import Any

from django.contrib import admin
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join

from clusters.admin import hardware
from clusters.models import Node
from energy.drawn import drawn_nodes
from jobs.models import Allocation
from rest.quantities import watts

HOLDERS_SHOWN = 3


@admin.register(Node)
class NodeAdmin(hardware.NodeAdmin):
    list_display = (
        "name",
        "shown_state",
        "cluster",
        "rack",
        "gpu_type",
        "gpus_held",
        "drawn",
        "holders",
        "gpus_healthy",
        "cpus_in_use",
        "memory_in_use",
        "last_sync_at",
        "state_reason",
    )

    def complete(self, rows: list[Any]) -> None:
        by_id = {row.pk: row for row in rows}
        drawn = {node.id: node.watts for node in drawn_nodes(by_id, now=timezone.now())}
        held = _holders(by_id)
        for pk, row in by_id.items():
            row.drawn_w, row.held_by = drawn.get(pk), held[pk]

    @admin.display(description="draws")
    def drawn(self, node: Any) -> str:
        return watts(node.drawn_w)

    @admin.display(description="held by")
    def holders(self, node: Any) -> str:
        links = (
            (reverse("admin:jobs_job_change", args=[job]), tenant, name)
            for job, name, tenant in node.held_by[:HOLDERS_SHOWN]
        )
        shown = format_html_join(", ", '<a href="{}">{}: {}</a>', links)
        more = len(node.held_by) - HOLDERS_SHOWN
        return format_html("{} and {} more", shown, more) if more > 0 else shown


def _holders(nodes: dict[int, Node]) -> dict[int, list[tuple[int, str, str]]]:
    """(job, its name, its tenant's name) of those that hold GPUs of a node."""
    held = Allocation.objects.filter(node__in=nodes, released_at=None).order_by("attempt__job_id")
    columns = ("node_id", "attempt__job_id", "attempt__job__name", "tenant__name")
    found: dict[int, list[tuple[int, str, str]]] = defaultdict(list)
    for node, *holder in held.values_list(*columns).distinct():
        found[node].append((holder[0], holder[1], holder[2]))
    return found
