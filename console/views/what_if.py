"""What would happen under another policy, asked of the live queue."""

from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from msgspec import to_builtins

from clusters.models import Cluster
from clusters.selectors import clusters
from console.pages import acts, reads, show
from console.reads.comparison import comparison
from policies import registry
from rest.structs import read
from tenancy.callers import Caller
from whatif.api.structs import SimulationCreate
from whatif.models import LIVE
from whatif.selectors import simulations
from whatif.services import simulation_create

SHOWN = 20
NOW = "now: "


@reads("simulations.live")
def what_if(request: HttpRequest, caller: Caller) -> HttpResponse:
    context = {
        "clusters": clusters().order_by("name"),
        "policies": [(name, registry.summary(name)) for name in registry.policy_names()],
        "simulations": simulations(caller).filter(kind="live").order_by("-pk")[:SHOWN],
    }
    return show(request, caller, "what_if.html", context)


@acts("simulations.live")
def ask(request: HttpRequest, caller: Caller) -> HttpResponse:
    cluster = get_object_or_404(clusters(), name=request.POST.get("cluster", ""))
    asked = _asked(cluster, request.POST.get("policy", ""))
    made = simulation_create(caller=caller, values=to_builtins(asked), now=timezone.now())
    return HttpResponseRedirect(reverse("console:answer", args=[made.pk]))


def _asked(cluster: Cluster, policy: str) -> SimulationCreate:
    today = {
        "name": cluster.policy,
        "label": f"{NOW}{cluster.policy}",
        "parameters": cluster.policy_parameters,
    }
    values = {
        "name": f"{cluster.policy} or {policy}?"[:200],
        "live": True,
        "cluster": cluster.name,
        "policies": [today, {"name": policy}],
    }
    found: SimulationCreate = read(SimulationCreate, values)
    return found


@reads("simulations.live")
def answer(request: HttpRequest, caller: Caller, simulation_id: int) -> HttpResponse:
    return show(request, caller, "answer.html", _answer(caller, simulation_id))


@reads("simulations.live")
def answer_live(request: HttpRequest, caller: Caller, simulation_id: int) -> HttpResponse:
    return show(request, caller, "answer_live.html", _answer(caller, simulation_id))


def _answer(caller: Caller, simulation_id: int) -> dict[str, Any]:
    row = get_object_or_404(simulations(caller), pk=simulation_id)
    label = next((p["label"] for p in row.request["policies"] if p["label"].startswith(NOW)), "")
    found = comparison(row.results, label)
    return {"simulation": row, "comparison": found, "live": row.state in LIVE}
