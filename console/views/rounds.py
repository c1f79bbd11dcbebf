"""Rounds: what each decided, how long its steps took, how good its plan was."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from console.pages import acts, reads, show
from console.query import number
from console.reads.rounds import newest_rounds, replayed, round_decisions, steps
from rest.problems import NotFound
from tenancy.callers import Caller


@reads("rounds.read")
def rounds(request: HttpRequest, caller: Caller) -> HttpResponse:
    page = newest_rounds(before=number(request, "before"))
    return show(request, caller, "rounds.html", {"page": page})


@reads("rounds.read")
def one_round(request: HttpRequest, caller: Caller, round_id: int) -> HttpResponse:
    return show(request, caller, "round.html", _round(request, caller, round_id))


@acts("rounds.read", whole=False)
def replay(request: HttpRequest, caller: Caller, round_id: int) -> HttpResponse:
    """Plans it again, which takes as long as it took; changes nothing."""
    context = {**_round(request, caller, round_id), "replayed": replayed(round_id)}
    return show(request, caller, "round.html", context)


def _round(request: HttpRequest, caller: Caller, round_id: int) -> dict[str, Any]:
    after = number(request, "after") or 0
    entry, found, following = round_decisions(caller, round_id, after=after)
    if entry is None:
        raise NotFound
    spent = steps(entry)
    return {
        "entry": entry,
        "decisions": found,
        "next": following,
        "steps": spent,
        "longest": max(ms for _, ms in spent),
    }
