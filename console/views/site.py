"""The site: its map, its watts, its queue and what is wrong."""

from dataclasses import asdict, dataclass
from datetime import datetime

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404
from django.template.loader import render_to_string
from django.utils import timezone

from clusters.models import Cluster
from clusters.selectors import clusters, nodes
from clusters.services.draining import DRAINABLE, RESUMABLE
from console.kept import kept
from console.pages import reads, show
from console.query import choice
from console.reads.curves import Curve, power_of_day, price_and_carbon
from console.reads.day_money import day_money
from console.reads.machines import (
    COLOURS,
    NODES_SHOWN,
    node_cells,
    nodes_in,
    racks,
    tenants_seen,
)
from console.reads.site import ClusterView, cluster_views
from scheduling.site import alarms, queue_figures
from tenancy.callers import SYSTEM, Caller

LIVE_S, LIVE_OF_MANY_S = 10, 30
# How old a part may be that is shown to whoever comes next.
PART_S = 8.0


@dataclass(frozen=True, slots=True)
class SitePart:
    """What lives on the page of the site, drawn."""

    drawn: str
    clusters: list[ClusterView]
    live_s: int


@reads("power.read")
def site(request: HttpRequest, caller: Caller) -> HttpResponse:
    colour = _colour(request)
    part = _part(colour, now=timezone.now())
    return show(request, caller, "site.html", {"part": part, "colour": colour})


@reads("power.read")
def site_live(request: HttpRequest, caller: Caller) -> HttpResponse:
    return HttpResponse(_part(_colour(request), now=timezone.now()).drawn)


@kept(PART_S)
def _part(colour: str, *, now: datetime) -> SitePart:
    """Drawn without the request: it cannot come to depend on who asked first."""
    views = cluster_views(colour, now=now)
    return SitePart(
        drawn=render_to_string("console/site_live.html", _context(views, colour, now)),
        clusters=views,
        # Where each asking reads thousands of GPUs, they are shown by rack, which changes slowly.
        live_s=LIVE_S if all(view.nodes is not None for view in views) else LIVE_OF_MANY_S,
    )


def _context(views: list[ClusterView], colour: str, now: datetime) -> dict[str, object]:
    return {
        "clusters": views,
        "gpus": sum(view.gpus for view in views),
        "held": sum(view.held for view in views),
        "queue": queue_figures(SYSTEM),
        "money": day_money(now=now),
        "alarms": alarms(now=now),
        "colour": colour,
        "colours": COLOURS,
    }


def _colour(request: HttpRequest) -> str:
    return choice(request, "colour", list(COLOURS)) or COLOURS[0]


@reads("power.read")
def rack(request: HttpRequest, caller: Caller, cluster_id: int, rack_id: int) -> HttpResponse:
    """The nodes of one rack; 0 is of those without one."""
    cluster, now = get_object_or_404(clusters(), pk=cluster_id), timezone.now()
    cell = next(
        (c for c in racks(now=now) if (c.cluster_id, c.rack_id) == (cluster_id, rack_id)), None
    )
    colour = _colour(request)
    found = nodes_in(cluster_id, rack_id, now=now, colour=colour)
    context = {"cluster": cluster, "rack": cell, "nodes": found, "tenants": tenants_seen(found)}
    picked = {"colour": colour, "colours": COLOURS}
    return show(request, caller, "rack.html", {**context, **picked, "most": NODES_SHOWN})


@reads("power.read")
def node(request: HttpRequest, caller: Caller, node_id: int) -> HttpResponse:
    return show(request, caller, "node.html", _node(node_id))


@reads("power.read")
def node_live(request: HttpRequest, caller: Caller, node_id: int) -> HttpResponse:
    return show(request, caller, "node_live.html", _node(node_id))


def _node(node_id: int) -> dict[str, object]:
    row = get_object_or_404(nodes(), pk=node_id)
    cells = node_cells([row.pk], now=timezone.now())
    return {
        "node": row,
        "cell": cells[0] if cells else None,
        "drainable": row.state in DRAINABLE,
        "resumable": row.state in RESUMABLE,
    }


@reads("power.read")
def power_curve(request: HttpRequest, caller: Caller, cluster_id: int) -> HttpResponse:
    return drawn(power_of_day(_cluster(cluster_id), now=timezone.now()))


@reads("tariffs.read")
def price_curve(request: HttpRequest, caller: Caller, cluster_id: int) -> HttpResponse:
    return drawn(price_and_carbon(_cluster(cluster_id), now=timezone.now()))


def drawn(curve: Curve) -> HttpResponse:
    return JsonResponse(asdict(curve), headers={"Cache-Control": "private, max-age=30"})


def _cluster(cluster_id: int) -> Cluster:
    return get_object_or_404(clusters(), pk=cluster_id)
