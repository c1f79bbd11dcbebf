"""What would happen if something were otherwise, asked of the live queue."""

from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from msgspec import to_builtins

from clusters.selectors import clusters, nodes
from console.pages import acts, reads, show
from console.reads.comparison import comparison
from console.what_if_form import NOW, question
from policies import registry
from rest.problems import Problem
from tariffs.selectors import tariffs
from tenancy.callers import Caller
from whatif.models import LIVE
from whatif.selectors import simulations
from whatif.services import simulation_create

SHOWN = 20
NAMES_SHOWN = 200


@reads("simulations.live")
def what_if(request: HttpRequest, caller: Caller) -> HttpResponse:
    return show(request, caller, "what_if.html", _page(caller))


def _page(caller: Caller) -> dict[str, Any]:
    asked = simulations(caller).filter(kind="live").order_by("-pk")[:SHOWN]
    return {**_form(), "simulations": asked}


def _form() -> dict[str, Any]:
    return {
        "clusters": clusters().order_by("name"),
        "policies": [(name, registry.summary(name)) for name in registry.policy_names()],
        "tariffs": tariffs().order_by("name").values_list("name", flat=True)[:NAMES_SHOWN],
        "nodes": nodes().order_by("name").values_list("name", flat=True)[:NAMES_SHOWN],
    }


@acts("simulations.live", whole=False)
def ask(request: HttpRequest, caller: Caller) -> HttpResponse:
    cluster = get_object_or_404(clusters(), name=request.POST.get("cluster", ""))
    try:
        asked = to_builtins(question(cluster, request.POST.dict()))
        with transaction.atomic():
            made = simulation_create(caller=caller, values=asked, now=timezone.now())
    except Problem as problem:
        context = {**_page(caller), "problem": problem, "sent": request.POST}
        return show(request, caller, "what_if.html", context, problem.status_code)
    return HttpResponseRedirect(reverse("console:answer", args=[made.pk]))


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
