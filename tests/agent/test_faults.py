"""What goes wrong on a node, each with real processes: nothing is lost, nothing runs twice."""

import shutil
import signal
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import psutil
import pytest

from agent.clock import boot_id
from agent.remember.attempt_store import double_holds
from agent.wire import DesiredAttempt, End, State
from tests.agent.conftest import Ground, attempt
from tests.agent.process import AgentProcess, alive, gpu_uuid
from tests.agent.service import ScriptedService, until


@pytest.fixture(autouse=True)
def _no_gpu_in_two_hands(ground: Ground) -> Iterable[None]:
    """After every fault the journals are read: no GPU was ever held by two attempts at once."""
    yield
    for agent in ground.agents:
        if (agent.state / "journal.jsonl").exists():
            assert double_holds(agent.journal()) == []


def state_is(service: ScriptedService, state: State, attempt_id: int = 7) -> Callable[[], bool]:
    return lambda: attempt_id in service.latest and service.latest[attempt_id].state is state


def started(agent: AgentProcess, service: ScriptedService, wanted: DesiredAttempt) -> set[int]:
    """Have an attempt running; its processes."""
    service.want(wanted)
    until(state_is(service, State.RUNNING, wanted.attempt_id), "the attempt running")
    return set(until(lambda: agent.job_pids(wanted.attempt_id), "its process"))


def events(agent: AgentProcess, kind: str) -> list[Any]:
    return [entry for entry in agent.journal() if entry["event"] == kind]


def test_a_killed_agent_finds_its_job_alive(
    ground: Ground, agent: AgentProcess, service: ScriptedService
) -> None:
    pids = started(agent, service, attempt(clock_mhz=810))
    agent.kill()
    epoch, syncs = service.epoch, len(service.syncs)
    agent.start()
    until(lambda: len(service.syncs) > syncs + 1, "syncs of the new agent")
    assert service.epoch == epoch + 1
    assert agent.job_pids(7) == pids
    report = service.latest[7]
    assert (report.state, report.fence) == (State.RUNNING, 70)
    assert service.gpus[gpu_uuid(0)].attempt_id == 7
    assert service.gpus[gpu_uuid(0)].clock_mhz == 810
    assert len(events(agent, "hold")) == len(events(agent, "adopt")) == 1


def test_an_exit_code_is_kept_while_no_agent_is_there(
    agent: AgentProcess, service: ScriptedService, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    code = f"import os, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)\nexit(42)"
    (pid,) = started(agent, service, attempt(code, clock_mhz=810))
    directory = agent.run_dir(7)
    assert directory is not None
    agent.kill()
    gate.touch()
    kept = directory / "exit.json"
    until(lambda: kept.read_text().strip(), "the exit code kept by the shim")
    assert not alive(pid)
    agent.start()
    until(lambda: 7 in service.ended, "the end told by the new agent")
    report = service.ended[7]
    assert (report.end, report.exit_code) == (End.EXITED, 42)
    until(lambda: service.gpus[gpu_uuid(0)].clock_mhz is None, "the clock taken back")


def test_a_stopped_agents_job_dies_before_the_lease_does(
    agent: AgentProcess, service: ScriptedService
) -> None:
    service.run_lease_s = 2.0
    (pid,) = started(agent, service, attempt(clock_mhz=810))
    agent.signal(signal.SIGSTOP)
    # The shim alone watches the lease now; the service would free the GPU 2 s after a sync.
    until(lambda: not alive(pid), "the job killed while its agent is stopped")
    service.give_up(7)
    syncs = len(service.syncs)
    agent.signal(signal.SIGCONT)
    until(lambda: len(service.syncs) > syncs, "a sync after the 409")
    until(lambda: events(agent, "release"), "the end in the journal")
    assert '"end":"lease_lost"' in events(agent, "release")[0]["report"]
    until(lambda: service.gpus[gpu_uuid(0)].clock_mhz is None, "the clock taken back")
    assert service.gpus[gpu_uuid(0)].attempt_id is None
    assert 7 not in service.ended, "a fenced attempt is spoken of no more"


def test_a_stale_fence_kills_that_job_and_no_other(
    agent: AgentProcess, service: ScriptedService
) -> None:
    (given_up,) = started(agent, service, attempt(grace_s=600.0))
    (kept,) = started(agent, service, attempt(attempt_id=8, fence=71, gpu_uuids=(gpu_uuid(1),)))
    service.give_up(7)
    until(lambda: not alive(given_up), "the given up job killed without grace")
    syncs = len(service.syncs)
    until(lambda: len(service.syncs) > syncs + 1, "syncs going on")
    assert alive(kept)
    assert service.latest[8].state is State.RUNNING


def test_while_the_service_is_down_nothing_is_lost_or_restarted(
    agent: AgentProcess, service: ScriptedService, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    code = f"import os, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)\nprint('x')"
    (ending,) = started(agent, service, attempt(code))
    (lasting,) = started(agent, service, attempt(attempt_id=8, fence=71, gpu_uuids=(gpu_uuid(1),)))
    service.fate.down = True
    gate.touch()
    until(lambda: not alive(ending), "a job's end while the service is down")
    before = len(service.samples)
    until(lambda: "again in" in agent.said(), "the agent trying again")
    assert alive(lasting)
    service.fate.down = False
    until(lambda: 7 in service.ended, "the end told once the service is back")
    assert service.ended[7].exit_code == 0
    assert agent.job_pids(8) == {lasting}
    until(lambda: service.text(7) == "x\n", "the log of what happened meanwhile")
    until(lambda: len(service.samples) > before, "the samples of what happened meanwhile")
    sequences = sorted({sample.sequence for sample in service.samples})
    assert sequences == list(range(sequences[0], sequences[-1] + 1))
    assert len(events(agent, "start")) == 2


def test_without_the_service_the_run_lease_rules(
    agent: AgentProcess, service: ScriptedService
) -> None:
    service.run_lease_s = 2.0
    (pid,) = started(agent, service, attempt())
    service.fate.down = True
    until(lambda: not alive(pid), "the job ended for want of a lease")
    service.fate.down = False
    until(lambda: 7 in service.ended, "the end told")
    assert service.ended[7].end is End.LEASE_LOST


def test_a_lost_answer_is_asked_for_again(agent: AgentProcess, service: ScriptedService) -> None:
    until(lambda: service.syncs, "a first sync")
    service.fate.lose_answers = 3
    pids = started(agent, service, attempt())
    service.fate.lose_answers = 2
    service.cancel(7, "done")
    until(lambda: 7 in service.ended, "the end, told again until acknowledged")
    until(lambda: events(agent, "ack"), "the acknowledgement")
    assert len(events(agent, "hold")) == len(events(agent, "release")) == 1
    assert not any(alive(pid) for pid in pids)


def test_a_lost_answer_to_the_joining_does_not_strand_the_node(
    ground: Ground, service: ScriptedService
) -> None:
    service.fate.lose_answers = 1
    ground.agent().start()
    until(lambda: service.syncs, "a sync after joining twice")
    assert len(service.registers) == 2
    assert service.registers[0].install_id == service.registers[1].install_id


def test_an_answer_that_comes_again_starts_nothing_again(
    agent: AgentProcess, service: ScriptedService
) -> None:
    service.want(attempt("exit(5)"))
    until(lambda: service.latest.get(7), "the attempt begun")
    wanting = service.last_answer
    until(lambda: events(agent, "forget"), "the attempt over and forgotten")
    service.last_answer, service.fate.repeat_answers = wanting, 3
    until(lambda: service.fate.repeat_answers == 0, "the old answer given three times more")
    syncs = len(service.syncs)
    until(lambda: len(service.syncs) > syncs + 1, "syncs going on")
    assert len(events(agent, "hold")) == 1


def test_an_end_is_told_until_it_is_acknowledged(
    agent: AgentProcess, service: ScriptedService
) -> None:
    service.ack = False
    service.want(attempt("exit(5)"))
    until(lambda: 7 in service.ended, "the end")
    service.wanted[7] = attempt("exit(5)")
    told = len(service.reports)
    until(lambda: len(service.reports) > told + 2, "the end told again and again")
    assert service.latest[7].exit_code == 5
    service.ack = True
    until(lambda: events(agent, "forget"), "the attempt forgotten")
    assert len(events(agent, "hold")) == 1


def test_of_two_agents_with_one_identity_the_older_is_fenced(
    ground: Ground, agent: AgentProcess, service: ScriptedService
) -> None:
    (pid,) = started(agent, service, attempt(clock_mhz=810))
    copy = agent.state.with_name("copy")
    copy.mkdir()
    shutil.copy2(agent.state / "identity.json", copy)
    newer = ground.agent("copy").start()
    assert agent.wait() == 3
    assert "another agent has registered as node node-1" in agent.said()
    assert not alive(pid)
    assert events(agent, "control")[-1]["clock_mhz"] is None
    syncs = len(service.syncs)
    until(lambda: len(service.syncs) > syncs + 1, "the newer one at work")
    assert newer.running.poll() is None


def test_a_state_directory_has_one_agent(
    ground: Ground, agent: AgentProcess, service: ScriptedService
) -> None:
    until(lambda: service.syncs, "the first agent at work")
    second = ground.agent().start()
    assert second.wait() == 4
    assert f"is in use by agent {agent.running.pid}" in second.said()
    assert agent.running.poll() is None


def test_a_killed_shim_takes_its_job_with_it(agent: AgentProcess, service: ScriptedService) -> None:
    started(agent, service, attempt("import os, time\nos.fork()\ntime.sleep(600)"))
    until(lambda: len(agent.job_pids(7)) == 2, "the child of the job")
    pids = agent.job_pids(7)
    agent.signal(signal.SIGSTOP)
    psutil.Process(agent.shim_pid(7)).kill()
    until(lambda: not all(map(alive, pids)), "the kernel ending what the shim started")
    agent.signal(signal.SIGCONT)
    until(lambda: 7 in service.ended, "the end")
    assert (service.ended[7].end, service.ended[7].exit_code) == (End.SHIM_LOST, None)
    until(lambda: not any(map(alive, pids)), "the agent ending the rest")


def test_after_a_reboot_what_ran_is_told_lost(
    agent: AgentProcess, service: ScriptedService
) -> None:
    (pid,) = started(agent, service, attempt(clock_mhz=810))
    agent.kill()
    psutil.Process(agent.shim_pid(7)).kill()
    until(lambda: not alive(pid), "the job gone with its shim")
    journal = agent.state / "journal.jsonl"
    journal.write_text(journal.read_text().replace(boot_id(), "an-earlier-boot"))
    agent.start()
    until(lambda: 7 in service.ended, "the end")
    assert (service.ended[7].end, service.ended[7].exit_code) == (End.NODE_REBOOTED, None)
    until(lambda: service.gpus[gpu_uuid(0)].clock_mhz is None, "the clock taken back")


def test_an_attempt_promised_but_not_begun_is_begun_by_the_next_agent(
    agent: AgentProcess, service: ScriptedService
) -> None:
    (pid,) = started(agent, service, attempt())
    agent.kill()
    shim, directory = agent.shim_pid(7), agent.run_dir(7)
    psutil.Process(shim).kill()
    until(lambda: not alive(pid), "the job gone with its shim")
    assert directory is not None
    (directory / "claim").unlink()
    agent.start()
    until(lambda: (directory / "claim").exists() and agent.shim_pid(7) != shim, "a new shim")
    until(lambda: service.epoch == 2 and state_is(service, State.RUNNING)(), "it running")
    assert len(events(agent, "hold")) == 1


def test_told_to_terminate_the_agent_leaves_its_jobs_to_the_next(
    agent: AgentProcess, service: ScriptedService
) -> None:
    pids = started(agent, service, attempt())
    agent.signal(signal.SIGTERM)
    assert agent.wait() == 0
    assert all(map(alive, pids))
    agent.start()
    until(lambda: service.epoch == 2 and agent.job_pids(7) == pids, "the jobs taken up")


def test_interrupted_the_agent_stops_its_jobs_and_says_so(
    agent: AgentProcess, service: ScriptedService
) -> None:
    pids = started(agent, service, attempt())
    agent.signal(signal.SIGINT)
    assert agent.wait() == 0
    assert not any(map(alive, pids))
    assert service.ended[7].end is End.STOPPED


def test_a_token_that_is_not_good_ends_the_agent_with_the_reason(
    ground: Ground, service: ScriptedService
) -> None:
    agent = ground.agent(FAIRWATT_JOIN_TOKEN="fw_j_made-up-token").start()
    assert agent.wait() == 4
    assert "the service turned this node away: 401 unauthenticated" in agent.said()
    assert "made-up-token" not in agent.said()


def test_a_node_clock_that_is_an_hour_off_has_no_effect(
    ground: Ground, service: ScriptedService
) -> None:
    """The agent and its job live in a time of their own for every wall clock call."""
    faketime = ground.directory / "wrongclock.so"
    if shutil.which("gcc") is None:
        pytest.skip("no compiler for a library that puts the clock wrong")
    source = Path(__file__).with_name("wrongclock.c")
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", faketime, source], check=True)
    service.run_lease_s = 10.0
    agent = ground.agent(LD_PRELOAD=str(faketime)).start()
    code = "import time; print(int(time.time())); time.sleep(0.5)"
    service.want(attempt(code))
    until(lambda: 7 in service.ended, "the end")
    assert service.ended[7].exit_code == 0
    until(lambda: service.batches, "telemetry")
    batch = service.batches[0]
    assert all(sample.boot_ms <= batch.sent_boot_ms for sample in batch.samples)
    (pid,) = started(agent, service, attempt(attempt_id=8, fence=71))
    syncs = len(service.syncs)
    until(lambda: len(service.syncs) > syncs + 5, "more syncs")
    assert alive(pid)


def test_a_flood_of_progress_and_logs_is_borne(
    agent: AgentProcess, service: ScriptedService
) -> None:
    code = (
        "import os\n"
        "with open(os.environ['FAIRWATT_PROGRESS'], 'w') as file:\n"
        "    file.write('{\"step\": 1}\\n' * 100_000 + 'rubbish\\n[1]\\n{\"step\": -1}\\n')\n"
        "    file.write('{\"step\": 77}\\n')\n"
        "print('y' * 3_000_000)"
    )
    service.want(attempt(code, log_cap_bytes=1_000_000))
    until(lambda: 7 in service.ended, "the end")
    assert service.ended[7].progress_step == 77
    until(lambda: len(service.text(7)) == 1_000_000, "the log up to its cap")


def test_logs_the_service_does_not_want_are_let_go(
    agent: AgentProcess, service: ScriptedService
) -> None:
    service.fate.refuse_logs = True
    service.want(attempt("print('too much')"))
    until(lambda: 7 in service.ended, "the end")
    until(lambda: agent.run_dir(7) is None, "the run's directory gone")
    assert service.text(7) == ""


def test_a_ring_brings_a_sync_at_once(ground: Ground, service: ScriptedService) -> None:
    """Without one the next would come in an hour."""
    service.bell = SimpleQueue()
    service.next_sync_s = 3600.0
    ground.agent().start()
    # Registered, and once more when the bell was opened.
    until(lambda: len(service.syncs) >= 2, "the agent listening")
    syncs = len(service.syncs)
    service.want(attempt())
    service.bell.put(b"ring\n")
    until(lambda: len(service.syncs) > syncs, "a sync")
    until(state_is(service, State.RUNNING), "the attempt running")
    service.bell.put(b"")
