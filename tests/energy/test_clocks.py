"""A GPU that runs above its clock is remarked upon until it obeys."""

from datetime import timedelta
from typing import Any

import pytest
from django.conf import LazySettings

from clusters.models import Gpu as GpuRow
from energy.clocks import clocks_verify
from jobs.models import Attempt
from scheduler_service.factories import NOW, make_cluster, make_jobs, make_tenant
from scheduling.round import run_round
from tests.energy.telemetry.readings import sample, take
from tests.engines.agents.nodes import Agent, join

pytestmark = pytest.mark.django_db

LATER = NOW + timedelta(seconds=90)


@pytest.fixture
def running() -> tuple[Agent, Any]:
    """An attempt on GPU 0, told to run at 990 MHz since it began."""
    cluster = make_cluster()
    agent = join(cluster, "n1")
    make_jobs(cluster, make_tenant(), 1)
    run_round(cluster.pk, now=NOW)
    (wanted,) = agent.sync().attempts
    agent.running(wanted)
    agent.sync()
    Attempt.objects.update(clock_mhz=990)
    return agent, wanted


def _read(agent: Agent, attempt_id: int | None, clock_mhz: int, first: int = 1) -> None:
    samples = [
        sample("GPU-n1-0", number, 0, attempt_id=attempt_id, clock_mhz=clock_mhz)
        for number in range(first, first + 50)
    ]
    take(agent.node, samples, now=LATER)


def _remark() -> str:
    return GpuRow.objects.get(uuid="GPU-n1-0").remark


def test_a_clock_that_is_ignored_is_said_and_taken_back(running: tuple[Agent, Any]) -> None:
    agent, wanted = running
    _read(agent, wanted.attempt_id, 1410)

    assert clocks_verify(now=LATER) == 1
    assert _remark() == "clock 1410 MHz while 990 MHz is set"
    gpu = GpuRow.objects.get(uuid="GPU-n1-0")
    assert gpu.healthy, "it keeps its work unless asked otherwise"

    Attempt.objects.update(clock_mhz=1410)
    assert (clocks_verify(now=LATER), _remark()) == (0, "")


@pytest.mark.parametrize("clock_mhz", [210, 990, 1005])
def test_at_or_below_the_clock_is_obeyed(running: tuple[Agent, Any], clock_mhz: int) -> None:
    agent, wanted = running
    _read(agent, wanted.attempt_id, clock_mhz)

    assert (clocks_verify(now=LATER), _remark()) == (0, "")


def test_a_clock_set_just_now_is_not_judged(running: tuple[Agent, Any]) -> None:
    agent, wanted = running
    _read(agent, wanted.attempt_id, 1410)
    Attempt.objects.update(clock_at=LATER - timedelta(seconds=30))

    assert clocks_verify(now=LATER) == 0


def test_readings_of_nobody_say_nothing(running: tuple[Agent, Any]) -> None:
    agent, _ = running
    _read(agent, None, 1410)

    assert clocks_verify(now=LATER) == 0


def test_it_leaves_scheduling_only_when_asked(
    running: tuple[Agent, Any], settings: LazySettings
) -> None:
    settings.CLOCK_FAULTS = True
    agent, wanted = running
    _read(agent, wanted.attempt_id, 1410)
    clocks_verify(now=LATER)

    gpu = GpuRow.objects.get(uuid="GPU-n1-0")
    assert (gpu.healthy, gpu.health_reason) == (False, gpu.remark)
