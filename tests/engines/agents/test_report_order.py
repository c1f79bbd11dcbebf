"""Reports may come late and in any order: a part only moves forward."""

import pytest
from msgspec.structs import replace

from agent.wire import State
from jobs.models import Part
from scheduler_service.factories import NOW, make_cluster, make_jobs, make_tenant
from scheduling.round import run_round
from tests.engines.agents.nodes import join

pytestmark = pytest.mark.django_db


def test_a_report_of_an_earlier_stage_changes_nothing() -> None:
    cluster = make_cluster()
    agent = join(cluster, "n1")
    make_jobs(cluster, make_tenant(), 1)
    run_round(cluster.pk, now=NOW)
    (wanted,) = agent.sync().attempts
    agent.running(wanted)
    agent.sync()

    earlier = replace(agent.reports[wanted.attempt_id], state=State.STARTING)
    agent.reports[wanted.attempt_id] = earlier
    agent.sync()

    assert Part.objects.get().state == Part.State.RUNNING
