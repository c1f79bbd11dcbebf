"""The promises of the database that a caller can break are kept."""

from contextlib import suppress
from typing import Any

import pytest
from django.db import IntegrityError, transaction

from jobs.lifecycle import MOVES, State
from jobs.models import Job
from scheduler_service.factories import NOW, make_jobs
from tests.jobs.conftest import World


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
