"""A run is one worker's at a time, ends once, and says why when it fails."""

from datetime import timedelta
from typing import Any

import pytest
from celery.exceptions import SoftTimeLimitExceeded

from scheduler_service.factories import NOW
from tests.api import Api
from tests.jobs.conftest import World
from tests.whatif.conftest import Messages, asked, runs_of
from whatif import dispatch, running, tasks
from whatif.claims import SILENT, Superseded, abandoned, claim, write
from whatif.models import Simulation, SimulationRun, WorkState
from whatif.running import run_claimed
from whatif.worlds import prepare

pytestmark = pytest.mark.django_db
ONE = [{"name": "fifo"}]


@pytest.fixture
def run(member: Api, messages: Messages) -> SimulationRun:
    (made,) = runs_of(asked(member, policies=ONE))
    Simulation.objects.update(created_at=NOW)
    return made


def test_a_run_is_taken_by_one(run: SimulationRun) -> None:
    first = claim(run.pk, now=NOW)
    assert first is not None
    assert (first.fence, first.state) == (1, "running")
    assert claim(run.pk, now=NOW + SILENT) is None
    assert Simulation.objects.get().state == WorkState.RUNNING


def test_a_silent_worker_loses_the_run_and_can_write_nothing(run: SimulationRun) -> None:
    silent = claim(run.pk, now=NOW)
    later = NOW + SILENT + timedelta(seconds=1)
    heir = claim(run.pk, now=later)
    assert silent is not None
    assert heir is not None
    write(heir, jobs_done=2, seen_at=later)
    with pytest.raises(Superseded):
        write(silent, jobs_done=1)
    assert SimulationRun.objects.get().jobs_done == 2


def test_the_sweep_finds_what_was_lost(run: SimulationRun, messages: Messages) -> None:
    messages.sent.clear()
    assert abandoned(now=NOW) == []
    assert abandoned(now=NOW + 2 * SILENT) == [run.pk]
    claim(run.pk, now=NOW + 2 * SILENT)
    assert abandoned(now=NOW + 2 * SILENT) == []
    tasks.sweep()
    assert messages.sent == [(dispatch.RUN, run.pk)]


def test_an_ended_run_is_not_run_again(run: SimulationRun) -> None:
    run_claimed(run.pk, now=NOW)
    before = SimulationRun.objects.get()
    run_claimed(run.pk, now=NOW + 2 * SILENT)
    after = SimulationRun.objects.get()
    assert (before.fence, before.ended_at) == (after.fence, after.ended_at)
    assert Simulation.objects.get().state == WorkState.SUCCEEDED


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (SoftTimeLimitExceeded(), "longer than 600 s"),
        (MemoryError(), "MiB of memory"),
        (ZeroDivisionError("by nought"), "ZeroDivisionError: by nought"),
    ],
)
def test_a_failed_run_says_why(
    run: SimulationRun, monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(running, "prepare", fails)
    run_claimed(run.pk, now=NOW)
    simulation = Simulation.objects.get()
    assert simulation.state == WorkState.FAILED
    assert reason in simulation.error
    assert simulation.results is None


def test_what_succeeded_is_kept_beside_what_failed(
    member: Api, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulation = asked(member)

    def fails_for_sjf(owner: Simulation, run: SimulationRun, **more: Any) -> Any:
        if run.policy == "sjf":
            raise ValueError("no")
        return prepare(owner, run, **more)

    monkeypatch.setattr(running, "prepare", fails_for_sjf)
    messages.work()
    simulation.refresh_from_db()
    assert (simulation.state, simulation.error) == ("failed", "sjf, seed 0: ValueError: no")
    assert simulation.results is not None
    assert [row["label"] for row in simulation.results["rows"]] == ["fifo"]


class Clock:
    """A second passes at every look."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        self.now_s += 1.0
        return self.now_s


def test_progress_is_written_and_cancelling_noticed(
    member: Api, messages: Messages, monkeypatch: pytest.MonkeyPatch, world: World
) -> None:
    drawn = {"jobs": 400, "load": 0.9}
    simulation = asked(member, trace=None, generate=drawn, policies=ONE)
    (run,) = runs_of(simulation)
    seen: list[int] = []

    def cancel_after_two(target: SimulationRun, **columns: Any) -> None:
        write(target, **columns)
        if "jobs_done" in columns:
            seen.append(columns["jobs_done"])
        if len(seen) == 2:
            SimulationRun.objects.update(state=WorkState.CANCELLED, ended_at=NOW)

    monkeypatch.setattr(running, "monotonic", Clock())
    monkeypatch.setattr(running._reporting, "__defaults__", (Clock(),))
    monkeypatch.setattr(running, "write", cancel_after_two)
    run_claimed(run.pk, now=NOW)
    run.refresh_from_db()
    assert len(seen) == 2
    assert (run.state, run.metrics, run.jobs_total) == ("cancelled", None, 400)


def test_too_much_memory_ends_a_run(
    member: Api, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulation = asked(member, trace=None, generate={"jobs": 400, "load": 0.9}, policies=ONE)
    monkeypatch.setattr(running._reporting, "__defaults__", (Clock(),))
    monkeypatch.setattr(running, "MEMORY_LIMIT_MIB", 1)
    messages.work()
    simulation.refresh_from_db()
    assert "more than 1 MiB" in simulation.error


def test_memory_is_measured_in_mib() -> None:
    assert 20 < running.memory_mib() < 20_000
