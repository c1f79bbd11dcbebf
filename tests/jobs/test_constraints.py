"""Every promise of the database is explained, and the ones a caller can break are kept."""

from contextlib import suppress
from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction

from jobs.lifecycle import MOVES, State
from jobs.models import Job
from rest.constraints import rule_for
from scheduler_service.factories import NOW, make_jobs
from tests.jobs.conftest import World

TABLES = [model._meta.db_table for model in apps.get_app_config("jobs").get_models()]
_CONSTRAINTS = """
SELECT conname FROM pg_constraint
WHERE conrelid::regclass::text = ANY(%(tables)s) AND contype IN ('c', 'u', 'f')
UNION
SELECT indexrelid::regclass::text FROM pg_index
WHERE indrelid::regclass::text = ANY(%(tables)s) AND indisunique AND NOT indisprimary
UNION
SELECT (regexp_matches(prosrc, 'CONSTRAINT = ''(\\w+)''', 'g'))[1] FROM pg_proc
WHERE proname IN ('jobs_legal_move', 'jobs_fence_grows')
"""


@pytest.mark.django_db
def test_every_constraint_is_explained() -> None:
    with connection.cursor() as cursor:
        cursor.execute(_CONSTRAINTS, {"tables": TABLES})
        names = {row[0] for row in cursor.fetchall()}
    assert {"job_gpus", "one_holder_per_gpu", "job_legal_move", "attempt_fence_grows"} <= names
    assert sorted(name for name in names if rule_for(name) is None) == []


def moved(source: State, target: State) -> dict[str, Any]:
    ended = {State.SUCCEEDED, State.FAILED, State.CANCELLED}
    return {"state": target, "ended_at": NOW if target in ended else None}


@pytest.mark.parametrize("source", list(State))
def test_the_trigger_knows_the_moves_of_the_lifecycle(world: World, source: State) -> None:
    """Every pair of states is tried on a real row."""
    (job,) = make_jobs(world.cluster, world.ours, 1, **moved(source, source))
    legal = set()
    for target in State:
        with suppress(IntegrityError), transaction.atomic():
            Job.objects.filter(pk=job.pk).update(**moved(source, target))
            legal.add(target)
            transaction.set_rollback(True)
    assert legal - {source} == MOVES[source]
    assert source in legal
