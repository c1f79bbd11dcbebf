"""Attempts that are to stop when nothing of them runs any more: no agent will report their end.

A node may end its part of a gang before another has fetched its own. Once the attempt is asked to
stop, that other part is handed out no more: all that there will ever be of the attempt is over.
"""

from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef

from engines.agents.outcome import attempt_finish
from jobs.models import Attempt, Job, Part


def stopped_finish(*, now: datetime) -> int:
    """End them, as the last report of a part would have; how many."""
    parts = Part.objects.filter(attempt=OuterRef("pk"))
    over = Attempt.objects.filter(
        Exists(parts),
        ~Exists(parts.exclude(state=Part.State.ENDED)),
        state=Attempt.State.STOPPING,
    )
    return sum(_finish(*ids, now) for ids in over.order_by("job_id").values_list("job_id", "pk"))


@transaction.atomic
def _finish(job_id: int, attempt_id: int, now: datetime) -> bool:
    job = Job.objects.select_for_update(of=("self",)).get(pk=job_id)
    attempt = Attempt.objects.select_for_update().get(pk=attempt_id)
    parts = list(Part.objects.filter(attempt=attempt).order_by("node_id"))
    # The last report may have come in between.
    if attempt.state != Attempt.State.STOPPING:
        return False
    attempt_finish(attempt, job, parts, now=now)
    return True
