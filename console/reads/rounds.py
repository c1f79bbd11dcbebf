"""Rounds without what is large, and what one of them decided."""

from django.db.models import F, QuerySet

from console.reads.jobs import PAGE, RowPage
from rest.problems import Conflict, NotFound
from scheduling.decisions import DecisionView, decisions
from scheduling.models import Round
from scheduling.replay import NotReplayable, Replayed, replay
from tenancy.callers import Caller

DECISIONS_SHOWN = 200
STEPS = ("load", "plan", "check", "apply", "shadow")


def _rows() -> QuerySet[Round]:
    return Round.objects.annotate(cluster_name=F("cluster__name")).defer("snapshot", "plan")


def newest_rounds(*, before: int | None) -> RowPage[Round]:
    rows = _rows() if before is None else _rows().filter(pk__lt=before)
    found = list(rows.order_by("-pk")[: PAGE + 1])
    return RowPage(found[:PAGE], found[PAGE - 1].pk if len(found) > PAGE else None)


def round_decisions(
    caller: Caller, round_id: int, *, after: int
) -> tuple[Round | None, list[DecisionView], int | None]:
    """The round, some of its decisions by job, and the job to go on after."""
    entry = _rows().defer(None).defer("snapshot").filter(pk=round_id).first()
    if entry is None:
        return None, [], None
    found = decisions(caller, entry, after=after, limit=DECISIONS_SHOWN + 1)
    page = found[:DECISIONS_SHOWN]
    return entry, page, page[-1].job_id if len(found) > DECISIONS_SHOWN else None


def steps(entry: Round) -> list[tuple[str, float]]:
    """Milliseconds, in the order of the round."""
    spent = ((name, getattr(entry, f"{name}_ms")) for name in STEPS)
    return [(name, ms) for name, ms in spent if ms is not None]


def replayed(round_id: int) -> Replayed:
    entry = Round.objects.filter(pk=round_id).first()
    if entry is None:
        raise NotFound
    try:
        return replay(entry)
    except NotReplayable as error:
        raise Conflict(str(error), code="not_replayable") from None
