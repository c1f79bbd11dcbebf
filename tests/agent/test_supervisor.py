"""The supervisor on fakes: what is wanted starts, what is not ends, and no GPU has two holders."""

import json
import signal
from pathlib import Path
from typing import cast

import pytest

from agent.files.preparation import UnpreparedError
from agent.remember.attempt_store import double_holds
from agent.run.attempt_run import OVERDUE_S
from agent.run.processes import Process
from agent.wire import AttemptRef, Cancel, End, GitCommit, SecretValue, State, Workdir
from tests.agent.fakes import NODE_LEASE_S, ONE, RUN_LEASE_S, FakeShim, SupervisedNode, attempt


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SupervisedNode:
    return SupervisedNode(tmp_path, monkeypatch)


OTHER = attempt(8, 80, gpu_uuids=("GPU-b",))


# Starting.


def test_what_is_wanted_is_held_in_the_journal_and_launched_once(node: SupervisedNode) -> None:
    node.accept(ONE)
    node.accept(ONE)
    assert node.launcher.launched == [ONE.ref]
    assert node.events() == ["hold"]
    assert [report.state for report in node.reports()] == [State.STARTING]


def test_an_attempt_runs_once_its_shim_has_taken_the_claim(node: SupervisedNode) -> None:
    node.accept(ONE)
    shim = node.claim(ONE)
    assert [report.state for report in node.reports()] == [State.RUNNING]
    assert node.gpus["GPU-a"].occupant is shim  # type: ignore[comparison-overlap]
    assert node.gpus["GPU-b"].occupant is None
    assert node.events() == ["hold", "start"]


def test_what_cannot_be_read_is_refused_once_and_nobody_else_is_touched(
    node: SupervisedNode,
) -> None:
    node.accept(ONE)
    for _ in range(2):
        node.supervisor.starter.refuse(OTHER.ref, "/image: odd")
    assert node.events() == ["hold", "release"]
    ends = {report.ref: (report.end, report.detail) for report in node.reports()}
    assert ends == {ONE.ref: (None, ""), OTHER.ref: (End.REFUSED, "/image: odd")}


def test_clock_cap_and_near_cpus_are_the_attempts(node: SupervisedNode) -> None:
    node.accept(attempt(gpu_uuids=("GPU-b",), cpus=2, clock_mhz=1200, power_cap_w=250))
    assert (node.gpus["GPU-b"].clock_mhz, node.gpus["GPU-b"].cap_w) == (1200, 250)
    assert node.supervisor.attempts.runs[ONE.ref].cpus == {2, 3}


def test_a_driver_that_refuses_a_cap_does_not_stop_the_attempt(node: SupervisedNode) -> None:
    node.gpus["GPU-a"].refuses_caps = True
    node.accept(attempt(power_cap_w=250))
    assert node.launcher.launched == [ONE.ref]
    assert node.supervisor.gpus.controls.refusals["GPU-a"] == "no permission"


def test_who_wants_a_held_gpu_waits_until_its_holder_is_gone(node: SupervisedNode) -> None:
    node.accept(ONE)
    node.claim(ONE)
    both = attempt(8, 80, gpu_uuids=("GPU-a", "GPU-b"))
    node.accept(both)
    stopping, waiting = node.reports()
    assert (stopping.state, waiting.state) == (State.STOPPING, State.STARTING)
    assert waiting.detail == "waiting for GPU-a of attempt 7"
    node.exits(ONE, "stopped")
    assert node.launcher.launched == [ONE.ref, both.ref]
    assert node.supervisor.attempts.holder("GPU-a") == 8
    entries = [json.loads(line) for line in node.journal.path.read_text().splitlines()]
    assert double_holds(entries) == []


def test_an_answer_older_than_the_node_lease_starts_nothing(node: SupervisedNode) -> None:
    node.accept(ONE, sent_s=node.clock() - NODE_LEASE_S)
    assert node.launcher.launched == []
    node.accept(ONE)
    assert node.launcher.launched == [ONE.ref]


# Refusing.


def test_a_gpu_that_is_not_here_is_refused(node: SupervisedNode) -> None:
    node.accept(attempt(gpu_uuids=("GPU-a", "GPU-x")))
    (report,) = node.reports()
    assert (report.end, report.detail) == (End.REFUSED, "no such GPU on this node: GPU-x")
    assert node.launcher.launched == []
    assert node.supervisor.attempts.holder("GPU-a") is None


def test_what_the_host_cannot_run_is_refused_and_not_tried_again(node: SupervisedNode) -> None:
    node.launcher.unsupported = "no container tool"
    node.accept(ONE)
    node.launcher.unsupported = ""
    node.accept(ONE)
    (report,) = node.reports()
    assert (report.end, report.detail) == (End.REFUSED, "no container tool")
    assert node.launcher.launched == []


def test_a_launch_that_fails_is_refused_and_frees_the_gpu(node: SupervisedNode) -> None:
    node.launcher.broken = "disk full"
    node.accept(attempt(clock_mhz=1200))
    (report,) = node.reports()
    assert (report.end, report.detail) == (End.REFUSED, "cannot start: disk full")
    assert node.gpus["GPU-a"].clock_mhz is None
    assert node.events() == ["hold", "control", "control", "release"]


# Ending.


def test_an_attempt_that_ends_by_itself_is_reported_until_acknowledged(
    node: SupervisedNode,
) -> None:
    node.accept(attempt(clock_mhz=1200))
    node.claim(ONE)
    node.gpus["GPU-a"].energy_mj = 500
    node.exits(ONE, exit_code=3)
    (report,) = node.reports()
    assert (report.end, report.exit_code, report.ran_s) == (End.EXITED, 3, 2.0)
    assert [(each.start_mj, each.now_mj) for each in report.energy] == [(0, 500)]
    assert (node.gpus["GPU-a"].clock_mhz, node.gpus["GPU-a"].occupant) == (None, None)
    assert node.launcher.cleaned == [ONE.ref]
    node.accept(acks=(ONE.ref,))
    assert node.reports() == []


@pytest.mark.parametrize(("cancel_s", "grace_s"), [(7.0, 7.0), (None, 30.0)])
def test_a_stop_gives_the_grace_of_the_cancel_or_else_the_attempts(
    node: SupervisedNode, cancel_s: float | None, grace_s: float
) -> None:
    node.accept(ONE)
    shim = node.claim(ONE)
    node.accept(cancels=(Cancel(7, 70, "preempted", cancel_s),))
    told = json.loads((node.state_dir.run(ONE.ref) / "stop.json").read_text())
    assert (told, shim.signals) == ({"grace_s": grace_s}, [signal.SIGTERM])
    (report,) = node.reports()
    assert (report.state, report.detail) == (State.STOPPING, "preempted")
    assert node.run(ONE).kill_at_s == node.clock() + grace_s


def test_asked_again_a_stop_can_only_come_sooner(node: SupervisedNode) -> None:
    node.accept(ONE)
    shim = node.claim(ONE)
    node.accept()
    due_s = node.run(ONE).kill_at_s
    node.clock.now_s += 1
    node.accept()
    assert (node.run(ONE).kill_at_s, shim.signals) == (due_s, [signal.SIGTERM])
    node.accept(cancels=(Cancel(7, 70, "now", 2.0),))
    assert node.run(ONE).kill_at_s == node.clock() + 2.0
    assert node.run(ONE).stop_reason == "withdrawn"


def test_a_shim_that_does_not_end_in_time_is_killed(node: SupervisedNode) -> None:
    node.accept(ONE)
    shim = node.claim(ONE)
    node.accept(cancels=(Cancel(7, 70, "preempted", 5.0),))
    node.clock.now_s += 5.0 + OVERDUE_S
    node.supervisor.tick()
    assert signal.SIGKILL not in shim.signals
    node.clock.now_s += 0.1
    node.supervisor.tick()
    assert shim.signals[-1] == signal.SIGKILL


def test_a_stop_before_the_claim_ends_an_attempt_that_never_began(node: SupervisedNode) -> None:
    node.accept(ONE)
    child = node.run(ONE).child
    assert isinstance(child, FakeShim)
    node.accept()
    assert child.signals == [signal.SIGTERM]
    child.alive = False
    node.supervisor.tick()
    assert [report.end for report in node.reports()] == [End.STOPPED]


def test_a_lost_shim_ends_its_attempt_and_frees_the_gpu(node: SupervisedNode) -> None:
    node.accept(ONE, OTHER)
    shim = node.claim(ONE)
    shim.alive = False
    node.supervisor.tick()
    reports = {report.attempt_id: report.end for report in node.reports()}
    assert reports == {7: End.SHIM_LOST, 8: None}
    assert node.supervisor.attempts.holder("GPU-a") is None


def test_a_shim_that_wrote_its_record_and_died_is_not_lost(node: SupervisedNode) -> None:
    node.accept(ONE)
    node.claim(ONE).alive = False
    node.exits(ONE, exit_code=None, signal=9)
    (report,) = node.reports()
    assert (report.end, report.signal, report.detail) == (End.EXITED, 9, "killed by SIGKILL")


def test_all_are_stopped_and_nothing_is_started_in_their_place(node: SupervisedNode) -> None:
    node.accept(ONE, OTHER)
    shims = [node.claim(ONE, 11), node.claim(OTHER, 12)]
    node.accept(attempt(fence=71), OTHER)
    node.supervisor.stopper.stop_all("fenced", 0.0)
    assert [shim.signals[-1] for shim in shims] == [signal.SIGTERM] * 2
    for each in (ONE, OTHER):
        node.exits(each, "stopped")
    assert node.supervisor.attempts.runs == {}
    assert node.launcher.launched == [ONE.ref, OTHER.ref]


def test_without_a_lease_what_runs_is_stopped_and_nothing_starts(node: SupervisedNode) -> None:
    node.accept(ONE)
    shim = node.claim(ONE)
    node.clock.now_s += RUN_LEASE_S
    node.supervisor.tick()
    assert shim.signals == [signal.SIGTERM]
    assert node.run(ONE).stop_reason == "lease lost"
    node.supervisor.attempts.wanted[OTHER.ref] = OTHER
    node.supervisor.starter.may_start_until_s = node.clock() + 1
    node.supervisor.tick()
    assert node.launcher.launched == [ONE.ref]


# Fences.


def test_a_fenced_attempt_is_killed_and_never_spoken_of_again(node: SupervisedNode) -> None:
    node.accept(ONE)
    shim = node.claim(ONE)
    node.supervisor.fence((ONE.ref,))
    assert (shim.signals, node.run(ONE).kill_at_s) == ([signal.SIGTERM], node.clock())
    assert node.reports() == []
    node.exits(ONE, "stopped")
    assert node.reports() == []
    node.accept(ONE)
    assert node.launcher.launched == [ONE.ref]


def test_an_attempt_under_another_fence_begins_when_the_old_one_is_over(
    node: SupervisedNode,
) -> None:
    node.accept(ONE)
    node.claim(ONE)
    again = attempt(fence=71)
    node.accept(again)
    assert node.run(ONE).state is State.STOPPING
    # The service asks about attempt 7 as it should be now.
    (report,) = node.reports()
    assert (report.fence, report.detail) == (71, "waiting for GPU-a of attempt 7")
    node.exits(ONE, "stopped")
    assert node.launcher.launched == [ONE.ref, AttemptRef(7, 71)]


# After a crash.


def test_a_living_shim_goes_on_with_its_cpus_and_gpu(node: SupervisedNode) -> None:
    wanted = attempt(cpus=2, clock_mhz=1200)
    node.accept(wanted)
    shim = node.claim(wanted)
    cpus, node.gpus["GPU-a"].occupant = node.run(wanted).cpus, None
    node.crash()
    node.supervisor.adopt()
    assert node.launcher.launched == []
    assert node.events() == ["hold", "control", "start", "adopt"]
    assert (node.run(wanted).cpus, node.gpus["GPU-a"].clock_mhz) == (cpus, 1200)
    assert node.gpus["GPU-a"].occupant is shim
    assert node.supervisor.gpus.sampler.holders == {"GPU-a": 7, "GPU-b": None}
    node.accept(wanted, attempt(8, 80, gpu_uuids=("GPU-b",), cpus=3))
    assert node.supervisor.attempts.runs[AttemptRef(8, 80)].cpus.isdisjoint(cpus)


def test_what_was_promised_and_not_begun_is_launched(node: SupervisedNode) -> None:
    node.accept(ONE)
    node.crash()
    node.supervisor.adopt()
    # The values that it starts with are in no journal.
    assert node.launcher.launched == []
    assert [report.state for report in node.reports()] == [State.STARTING]
    node.accept(attempt(env={"LR": "0.1"}))
    assert node.launcher.launched == [ONE.ref]
    assert node.run(ONE).attempt.env == {"LR": "0.1"}


def test_values_that_tenants_gave_stand_in_no_journal(node: SupervisedNode) -> None:
    secret = SecretValue("key", "sesame", variable="KEY")
    node.accept(attempt(env={"LR": "0.1"}, secrets=(secret,)))
    written = node.journal.path.read_text()
    assert "hold" in written
    assert "sesame" not in written
    assert "0.1" not in written


def test_what_was_promised_is_not_launched_without_a_lease(node: SupervisedNode) -> None:
    node.accept(ONE)
    node.crash()
    node.clock.now_s += RUN_LEASE_S
    node.supervisor.adopt()
    assert node.launcher.launched == []
    assert [report.end for report in node.reports()] == [End.STOPPED]


def test_what_ended_meanwhile_is_reported_as_it_ended(node: SupervisedNode) -> None:
    node.accept(ONE)
    node.claim(ONE).alive = False
    node.crash()
    node.exits(ONE, exit_code=5)
    node.supervisor.adopt()
    (report,) = node.reports()
    assert (report.end, report.exit_code) == (End.EXITED, 5)


def test_after_a_reboot_nothing_of_before_runs(node: SupervisedNode) -> None:
    node.accept(ONE)
    node.claim(ONE)
    node.crash(boot_id="another")
    node.supervisor.adopt()
    (report,) = node.reports()
    assert (report.end, node.launcher.launched) == (End.NODE_REBOOTED, [])


def test_a_clock_that_nobody_took_back_is_taken_back(node: SupervisedNode) -> None:
    node.accept(attempt(clock_mhz=1200))
    node.claim(ONE)
    (node.state_dir.run(ONE.ref) / "exit.json").unlink(missing_ok=True)
    node.supervisor.gpus.controls.apply("GPU-b", node.supervisor.gpus.controls.settings["GPU-a"])
    node.crash()
    node.supervisor.adopt()
    assert (node.gpus["GPU-a"].clock_mhz, node.gpus["GPU-b"].clock_mhz) == (1200, None)


def test_an_attempt_whose_gpu_has_gone_is_still_taken_up(node: SupervisedNode) -> None:
    wanted = attempt(gpu_uuids=("GPU-a", "GPU-b"))
    node.accept(wanted)
    node.claim(wanted)
    del node.gpus["GPU-b"]
    node.crash()
    node.supervisor.adopt()
    assert [report.state for report in node.reports()] == [State.RUNNING]
    node.exits(wanted)
    assert [energy.uuid for energy in node.reports()[0].energy] == ["GPU-a"]


# Changing in place.


def test_clock_and_cpus_change_in_place_and_are_kept(node: SupervisedNode) -> None:
    node.accept(ONE)
    node.claim(ONE)
    node.accept(attempt(cpus=3, clock_mhz=900))
    assert node.gpus["GPU-a"].clock_mhz == 900
    assert int((node.state_dir.run(ONE.ref) / "clock").read_text()) == 900
    assert [(ref, len(cpus)) for ref, cpus in node.launcher.retuned] == [(7, 3)]
    held = node.supervisor.attempts.store.held[ONE.ref]
    assert (held.attempt.clock_mhz, held.cpus) == (900, node.run(ONE).cpus)


def test_who_shrinks_comes_before_who_grows(node: SupervisedNode) -> None:
    node.accept(attempt(cpus=1), attempt(8, 80, gpu_uuids=("GPU-b",), cpus=3))
    node.accept(attempt(cpus=3), attempt(8, 80, gpu_uuids=("GPU-b",), cpus=1))
    small, large = (run.cpus for run in node.supervisor.attempts.runs.values())
    assert (len(small), len(large), small & large) == (3, 1, frozenset())
    assert [attempt_id for attempt_id, _ in node.launcher.retuned] == [8, 7]


def test_an_attempt_without_cpus_of_its_own_gets_what_others_leave(node: SupervisedNode) -> None:
    free = attempt(8, 80, gpu_uuids=("GPU-b",), cpus=0)
    node.accept(free)
    assert node.run(free).cpus == {0, 1, 2, 3}
    node.accept(free, attempt(cpus=2))
    assert node.run(free).cpus == {2, 3}
    node.exits(ONE)
    assert node.run(free).cpus == {0, 1, 2, 3}
    assert [cpus for _, cpus in node.launcher.retuned] == [{2, 3}, {0, 1, 2, 3}]


def test_nothing_changes_where_nothing_is_asked(node: SupervisedNode) -> None:
    node.accept(ONE)
    # Only what can change in place is compared.
    node.accept(attempt(grace_s=5.0))
    assert (node.launcher.retuned, node.events()) == ([], ["hold"])


def test_a_checkpoint_in_use_is_not_discarded(node: SupervisedNode) -> None:
    for key in ("job-3", "job-4"):
        node.state_dir.checkpoint(key).mkdir()
    node.accept(ONE)
    node.accept(ONE, discard_checkpoints=("job-3", "job-4"))
    assert [path.name for path in node.state_dir.checkpoints.iterdir()] == ["job-3"]


# Preparing.

GIT = Workdir(git=GitCommit("https://git.example/a.git", "0" * 40))
BRINGS = attempt(workdir=GIT, secrets=(SecretValue("key", "s3cret", variable="KEY"),))


def test_an_attempt_that_brings_files_begins_once_they_are_there(node: SupervisedNode) -> None:
    node.accept(BRINGS)
    node.supervisor.tick()
    assert node.launcher.launched == []
    assert [report.state for report in node.reports()] == [State.STARTING]
    assert node.supervisor.attempts.holder("GPU-a") == BRINGS.attempt_id
    assert node.preparer.kept == {BRINGS.ref}
    node.preparer.whole.add(BRINGS.ref)
    node.supervisor.tick()
    assert node.launcher.launched == [BRINGS.ref]
    assert node.preparer.kept == set()
    assert node.events() == ["hold", "prepare"]


def test_files_that_cannot_be_had_end_the_attempt_and_free_the_gpu(node: SupervisedNode) -> None:
    node.accept(OTHER)
    node.preparer.trouble = UnpreparedError(End.INPUT_FAILED, "no such commit")
    node.accept(OTHER, BRINGS)
    ends = {report.ref: (report.end, report.detail) for report in node.reports()}
    assert ends == {OTHER.ref: (None, ""), BRINGS.ref: (End.INPUT_FAILED, "no such commit")}
    assert node.supervisor.attempts.holder("GPU-a") is None


def test_a_stop_while_files_are_brought_ends_it_at_once(node: SupervisedNode) -> None:
    node.accept(BRINGS)
    node.accept(cancels=(Cancel(BRINGS.attempt_id, BRINGS.fence, "cancel_requested"),))
    (report,) = node.reports()
    assert (report.end, report.detail) == (End.STOPPED, "cancel_requested")
    assert node.preparer.kept == set()


def test_a_stop_waits_for_the_process_that_works_on_the_files(node: SupervisedNode) -> None:
    node.accept(BRINGS)
    task = FakeShim(1, 1)
    node.run(BRINGS).child = cast(Process, task)
    node.accept()
    assert task.signals == [signal.SIGTERM]
    assert [report.state for report in node.reports()] == [State.STOPPING]
    task.alive = False
    node.supervisor.tick()
    assert [report.end for report in node.reports()] == [End.STOPPED]


def test_the_next_agent_prepares_again_once_it_has_the_values(node: SupervisedNode) -> None:
    node.accept(BRINGS)
    node.crash()
    node.supervisor.adopt()
    node.preparer.whole.add(BRINGS.ref)
    node.supervisor.tick()
    assert node.launcher.launched == []
    node.accept(BRINGS)
    assert node.launcher.launched == [BRINGS.ref]
    assert node.run(BRINGS).attempt.secrets == BRINGS.secrets
    assert "s3cret" not in node.journal.path.read_text()
