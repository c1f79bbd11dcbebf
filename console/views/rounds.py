"""Rounds: what each decided, how long its steps took, how good its plan was."""

from django.http import HttpRequest, HttpResponse

from console.pages import reads, show
from console.query import number
from console.reads.rounds import newest_rounds, round_decisions
from rest.problems import NotFound
from tenancy.callers import Caller


@reads("rounds.read")
def rounds(request: HttpRequest, caller: Caller) -> HttpResponse:
    page = newest_rounds(before=number(request, "before"))
    return show(request, caller, "rounds.html", {"page": page})


@reads("rounds.read")
def one_round(request: HttpRequest, caller: Caller, round_id: int) -> HttpResponse:
    after = number(request, "after") or 0
    entry, found, following = round_decisions(caller, round_id, after=after)
    if entry is None:
        raise NotFound
    context = {"entry": entry, "decisions": found, "next": following}
    return show(request, caller, "round.html", context)
