"""How long rounds stay replayable, and how long they stay at all."""

from datetime import datetime, timedelta

from django.db import connection, transaction

from jobs.models import Attempt
from scheduling.models import Round

# A snapshot of 20,000 jobs is some hundred kilobytes; the newest thousand rounds of a cluster are
# hours of hindsight at a bounded size.
REPLAYABLE_ROUNDS = 1000
KEEP = timedelta(days=30)

_EMPTY = """
UPDATE scheduling_round SET snapshot = NULL, plan = NULL
WHERE snapshot IS NOT NULL AND id IN (
    SELECT id FROM (
        SELECT id, row_number() OVER (PARTITION BY cluster_id ORDER BY id DESC) AS age
        FROM scheduling_round WHERE snapshot IS NOT NULL
    ) ranked WHERE age > %s)
"""


@transaction.atomic
def forget_rounds(*, now: datetime, replayable: int = REPLAYABLE_ROUNDS) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_EMPTY, [replayable])
    old = Round.objects.filter(started_at__lt=now - KEEP)
    Attempt.objects.filter(round_id__in=old.values("pk")).update(round_id=None)
    old.delete()
