"""Attempts on a node in ordinary times: what the service wants is what runs."""

import contextlib
import itertools
import json
import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.wire import AttemptReport, End, Gang, State, Stream
from tests.agent.conftest import Ground, attempt, ground_at
from tests.agent.process import ROOT, AgentProcess, alive, gpu_uuid
from tests.agent.service import JOIN_TOKEN, NODE_TOKEN, ScriptedService, until


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    """One agent for all tests here; each uses an attempt id of its own."""
    with ground_at(tmp_path_factory.mktemp("running")) as made:
        made.agent().start()
        yield made


@pytest.fixture
def agent(ground: Ground) -> Iterator[AgentProcess]:
    yield ground.agents[0]
    # Leave the node empty for the next test.
    for attempt_id in list(ground.service.wanted):
        ground.service.cancel(attempt_id, "test over", 0.0)
    until(lambda: not any((ground.agents[0].state / "runs").iterdir()), "an empty node")


def running(service: ScriptedService, attempt_id: int) -> None:
    until(
        lambda: attempt_id in service.latest and service.latest[attempt_id].state is State.RUNNING,
        f"attempt {attempt_id} running",
    )


def ended(service: ScriptedService, attempt_id: int) -> AttemptReport:
    report: AttemptReport = until(lambda: service.ended.get(attempt_id), f"{attempt_id} ended")
    return report


def printed(service: ScriptedService, attempt_id: int) -> str:
    until(lambda: (attempt_id, Stream.STDOUT) in service.final, "the whole of stdout")
    return service.text(attempt_id)


def test_exit_code_last_words_and_logs_come_back(
    agent: AgentProcess, service: ScriptedService
) -> None:
    code = "import sys; print('working'); print('no such file: data', file=sys.stderr); sys.exit(3)"
    service.want(attempt(code, attempt_id=1))
    report = ended(service, 1)
    assert (report.end, report.exit_code, report.signal) == (End.EXITED, 3, None)
    assert report.detail == "exit code 3: no such file: data"
    assert printed(service, 1) == "working\n"
    until(lambda: (1, Stream.STDERR) in service.final, "the whole of stderr")
    assert service.text(1, Stream.STDERR) == "no such file: data\n"
    until(lambda: agent.run_dir(1) is None, "the run's directory gone once all is told")


def test_a_signal_is_told_apart_from_an_exit_code(
    agent: AgentProcess, service: ScriptedService
) -> None:
    service.want(attempt("import os; os.kill(os.getpid(), 11)", attempt_id=2))
    report = ended(service, 2)
    assert (report.end, report.exit_code, report.signal) == (End.EXITED, None, 11)
    assert report.detail == "killed by SIGSEGV"


def test_a_command_that_does_not_exist_says_so(
    agent: AgentProcess, service: ScriptedService
) -> None:
    service.want(attempt(attempt_id=3, argv=("no-such-program; echo hacked",)))
    report = ended(service, 3)
    assert report.exit_code == 127
    assert "No such file or directory: 'no-such-program; echo hacked'" in report.detail


def test_arguments_reach_the_program_as_they_are(
    agent: AgentProcess, service: ScriptedService
) -> None:
    words = ("a b", "$(touch pwned)", ";", "*", "ü")
    code = "import json, sys; print(json.dumps(sys.argv[1:]))"
    service.want(attempt(attempt_id=4, argv=(sys.executable, "-c", code, *words)))
    ended(service, 4)
    assert tuple(json.loads(printed(service, 4))) == words


def test_the_environment_is_the_jobs_and_not_the_agents(
    agent: AgentProcess, service: ScriptedService
) -> None:
    code = "import json, os; print(json.dumps(dict(os.environ)))"
    env = {"LR": "0.1", "FAIRWATT_JOB_ID": "999", "CUDA_VISIBLE_DEVICES": "all"}
    uuids = (gpu_uuid(0), gpu_uuid(1))
    service.want(attempt(code, attempt_id=5, env=env, gpu_uuids=uuids, job_id=33))
    ended(service, 5)
    text = printed(service, 5)
    found = json.loads(text)
    assert found["LR"] == "0.1"
    assert found["FAIRWATT_JOB_ID"] == "33"
    assert found["FAIRWATT_ATTEMPT_ID"] == "5"
    assert found["FAIRWATT_GPUS"] == "2"
    assert found["CUDA_VISIBLE_DEVICES"] == ",".join(uuids)
    assert found["FAIRWATT_CHECKPOINT_DIR"] == str(agent.state / "checkpoints" / "3")
    assert (found["RANK"], found["LOCAL_RANK"], found["WORLD_SIZE"]) == ("0", "0", "1")
    assert JOIN_TOKEN not in text
    assert NODE_TOKEN not in text


def test_each_process_of_a_gang_gets_its_rank(
    agent: AgentProcess, service: ScriptedService
) -> None:
    code = (
        "import os; names = 'RANK LOCAL_RANK WORLD_SIZE LOCAL_WORLD_SIZE NODE_RANK NNODES "
        "MASTER_ADDR MASTER_PORT'; os.write(1, (' '.join(os.environ[n] for n in names.split())"
        " + '\\n').encode())"
    )
    service.want(attempt(code, attempt_id=6, gang=Gang(2, 4, 2, 1, 2, "10.0.0.1", 29500)))
    ended(service, 6)
    assert sorted(printed(service, 6).splitlines()) == [
        "2 0 4 2 1 2 10.0.0.1 29500",
        "3 1 4 2 1 2 10.0.0.1 29500",
    ]


def test_a_gang_that_loses_a_process_ends_as_a_whole(
    agent: AgentProcess, service: ScriptedService
) -> None:
    code = "import os, sys, time\nif os.environ['RANK'] == '1': sys.exit(9)\ntime.sleep(600)"
    service.want(attempt(code, attempt_id=7, gang=Gang(0, 2, 2, 0, 1, "127.0.0.1", 29500)))
    report = ended(service, 7)
    assert (report.end, report.exit_code) == (End.EXITED, 9)
    assert "one process of the gang ended with 9" in report.detail


def test_a_gang_of_processes_trains_together(agent: AgentProcess, service: ScriptedService) -> None:
    argv = (sys.executable, str(ROOT / "examples/gang.py"), "--steps", "5", "--step-s", "0.01")
    gang = Gang(0, 3, 3, 0, 1, "127.0.0.1", 29731)
    service.want(attempt(attempt_id=8, argv=argv, gang=gang))
    report = ended(service, 8)
    assert (report.exit_code, report.progress_step) == (0, 5)
    assert "rank 2 done: sum 30" in printed(service, 8)


def test_a_stopped_job_may_save_within_its_grace(
    agent: AgentProcess, service: ScriptedService
) -> None:
    code = (
        "import pathlib, signal, sys, time\n"
        "def leave(*_):\n"
        "    print('saved'); sys.exit(0)\n"
        "signal.signal(signal.SIGTERM, leave)\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)"
    )
    service.want(attempt(code, attempt_id=9))
    until(lambda: "ready" in service.text(9), "the job ready")
    service.cancel(9, "preempted")
    report = ended(service, 9)
    assert (report.end, report.exit_code, report.detail) == (End.STOPPED, 0, "preempted")
    assert printed(service, 9) == "ready\nsaved\n"


def test_a_job_that_will_not_leave_is_killed(agent: AgentProcess, service: ScriptedService) -> None:
    code = (
        "import signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)"
    )
    service.want(attempt(code, attempt_id=10))
    until(lambda: "ready" in service.text(10), "the job ready")
    service.cancel(10, "cancelled", grace_s=0.2)
    report = ended(service, 10)
    assert (report.end, report.signal) == (End.STOPPED, 9)


def test_what_is_no_longer_listed_is_stopped(agent: AgentProcess, service: ScriptedService) -> None:
    service.want(attempt(attempt_id=11))
    running(service, 11)
    with service.lock:
        service.wanted.clear()
    report = ended(service, 11)
    assert (report.end, report.detail) == (End.STOPPED, "withdrawn")


def test_nothing_outlives_its_attempt(agent: AgentProcess, service: ScriptedService) -> None:
    code = (
        "import os, sys, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        print(os.getpid(), flush=True)\n"
        "        time.sleep(600)\n"
        "    os._exit(0)\n"
        "time.sleep(0.3)"
    )
    service.want(attempt(code, attempt_id=12))
    ended(service, 12)
    escaped = int(printed(service, 12))
    assert not alive(escaped)


def test_the_next_attempt_resumes_where_the_preempted_one_stopped(
    agent: AgentProcess, service: ScriptedService
) -> None:
    script = str(ROOT / "examples/train_cpu_bound.py")
    argv = (sys.executable, script, "--steps", "100000", "--batch", "1")
    service.want(attempt(attempt_id=13, argv=argv, checkpoint_key="resume"))
    until(lambda: (service.latest.get(13) or attempt_none).progress_step, "a first step")
    service.cancel(13, "preempted")
    first = ended(service, 13)
    assert first.end is End.STOPPED
    assert first.checkpoint_step == first.progress_step
    again = (*argv[:3], str((first.progress_step or 0) + 5), *argv[4:])
    service.want(attempt(attempt_id=14, argv=again, checkpoint_key="resume", fence=71))
    second = ended(service, 14)
    assert (second.end, second.exit_code) == (End.EXITED, 0)
    assert f"starting at step {first.checkpoint_step}\n" in printed(service, 14)
    service.discards = ("resume",)
    until(lambda: not (agent.state / "checkpoints/resume").exists(), "the checkpoints thrown away")


attempt_none = AttemptReport(1, 1, State.STARTING)


def test_a_failing_training_says_why(agent: AgentProcess, service: ScriptedService) -> None:
    argv = (sys.executable, str(ROOT / "examples/fail_midway.py"), "--steps", "6", "--step-s", "0")
    service.want(attempt(attempt_id=15, argv=argv))
    report = ended(service, 15)
    assert report.progress_step == 3
    assert report.detail == "exit code 1: sample 192 is truncated: 512 of 4096 bytes"


def test_cpus_clock_and_cap_change_in_place_and_are_taken_back(
    agent: AgentProcess, service: ScriptedService
) -> None:
    uuid = gpu_uuid(0)
    code = (
        "import threading, time\n"
        "[threading.Thread(target=time.sleep, args=(600,), daemon=True).start() for _ in '123']\n"
        "time.sleep(600)"
    )
    service.want(attempt(code, attempt_id=16, clock_mhz=810, power_cap_w=200))
    running(service, 16)
    until(lambda: service.gpus[uuid].clock_mhz == 810, "the clock locked")
    assert service.gpus[uuid].power_cap_w == 200
    (pid,) = agent.job_pids(16)
    # Seen between its fork and its beginning, it is still its shim's copy.
    until(lambda: all(len(cpus) == 1 for cpus in _affinities(pid)), "its one CPU")

    service.adjust(16, cpus=2, clock_mhz=1110, power_cap_w=None)
    until(lambda: service.gpus[uuid].clock_mhz == 1110, "the clock changed")
    assert service.gpus[uuid].power_cap_w is None
    present = len(os.sched_getaffinity(0))
    until(lambda: {len(c) for c in _affinities(pid)} == {min(2, present)}, "all threads moved")
    assert agent.job_pids(16) == {pid}

    service.cancel(16, "done")
    ended(service, 16)
    until(lambda: service.gpus[uuid].clock_mhz is None, "the clock given back")
    assert service.gpus[uuid].attempt_id is None


def test_cpus_go_from_one_attempt_to_another_without_a_restart(
    agent: AgentProcess, service: ScriptedService
) -> None:
    """The one that gets is listed first; it may only have them once the other gave them up."""
    service.want(attempt(attempt_id=30, cpus=2))
    service.want(attempt(attempt_id=31, cpus=6, gpu_uuids=(gpu_uuid(1),), memory_mib=300))
    running(service, 30)
    running(service, 31)
    pids = agent.job_pids(30) | agent.job_pids(31)
    assert (_told(agent, 30), _told(agent, 31)) == (2, 6)

    service.adjust_all({30: {"cpus": 6}, 31: {"cpus": 2, "memory_mib": 500}})
    until(lambda: (_told(agent, 30), _told(agent, 31)) == (6, 2), "the CPUs handed over")
    holds = [json.loads(str(e["attempt"])) | e for e in agent.journal() if e["event"] == "hold"]
    last = {hold["attempt_id"]: set(hold["cpus"]) for hold in holds}
    assert last[30].isdisjoint(last[31])
    assert agent.job_pids(30) | agent.job_pids(31) == pids
    (pid,) = agent.job_pids(31)
    features = service.registers[0].inventory.features
    if features.cgroup:
        until(lambda: _group_limit(pid) == 500 << 20, "more memory")
        return
    limit = (500 if features.memory_in_place else 300) << 20
    until(lambda: resource.prlimit(pid, resource.RLIMIT_DATA)[0] == limit, "more memory")

    service.adjust_all({31: {"cpus": 2, "memory_mib": 100}})
    until(lambda: _memory_asked(agent, 31) == 100, "the lower limit noted")
    assert resource.prlimit(pid, resource.RLIMIT_DATA)[0] == limit


def _group_limit(pid: int) -> int:
    """Of the control group that a process is in, of either version."""
    lines = [line.split(":", 2) for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines()]
    for _, names, path in lines:
        for file in (f"memory{path}/memory.limit_in_bytes", f"{path[1:]}/memory.max"):
            found = Path("/sys/fs/cgroup") / file
            if names in ("memory", "") and found.exists():
                return int(found.read_text())
    return 0


def test_cpus_changed_while_an_attempt_starts_reach_it(
    agent: AgentProcess, service: ScriptedService
) -> None:
    service.want(attempt(attempt_id=32, cpus=1))
    service.adjust_all({32: {"cpus": 2}})
    running(service, 32)
    until(lambda: agent.run_dir(32) and agent.job_pids(32), "a process")
    (pid,) = agent.job_pids(32)
    present = len(os.sched_getaffinity(0))
    until(lambda: {len(c) for c in _affinities(pid)} == {min(2, present)}, "the later CPUs")


def _told(agent: AgentProcess, attempt_id: int) -> int:
    directory = agent.run_dir(attempt_id)
    assert directory is not None
    return int((directory / "cpus").read_text() or 0)


def _memory_asked(agent: AgentProcess, attempt_id: int) -> int:
    holds = [json.loads(str(e["attempt"])) for e in agent.journal() if e["event"] == "hold"]
    found = [hold["memory_mib"] for hold in holds if hold["attempt_id"] == attempt_id]
    return int(found[-1])


def _affinities(pid: int) -> set[frozenset[int]]:
    found = set()
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(ProcessLookupError):
            found.add(frozenset(os.sched_getaffinity(int(thread.name))))
    return found


def test_a_clock_the_device_refuses_is_reported_and_the_attempt_runs(
    agent: AgentProcess, service: ScriptedService
) -> None:
    service.want(attempt(attempt_id=17, clock_mhz=999))
    running(service, 17)
    until(lambda: service.gpus[gpu_uuid(0)].control_refusal, "the refusal")
    assert "999 MHz is not a clock" in service.gpus[gpu_uuid(0)].control_refusal
    assert service.gpus[gpu_uuid(0)].clock_mhz is None


def test_memory_beyond_the_limit_is_refused_to_the_process(
    agent: AgentProcess, service: ScriptedService
) -> None:
    code = "held = bytearray(200 << 20); held[::4096] = b'x' * len(held[::4096]); print('got it')"
    service.want(attempt(code, attempt_id=18, memory_mib=100))
    report = ended(service, 18)
    assert report.exit_code != 0
    if service.registers[0].inventory.features.cgroup:
        assert report.out_of_memory
        assert "out of memory: more than its 100 MiB" in report.detail
    else:
        assert "MemoryError" in report.detail
    service.want(attempt(code, attempt_id=19, memory_mib=800, fence=71))
    assert ended(service, 19).exit_code == 0


def test_an_attempt_that_cannot_run_here_is_refused_with_the_reason(
    agent: AgentProcess, service: ScriptedService
) -> None:
    service.want(attempt(attempt_id=20, gpu_uuids=("GPU-of-another-node",)))
    report = ended(service, 20)
    assert (report.end, report.exit_code) == (End.REFUSED, None)
    assert report.detail == "no such GPU on this node: GPU-of-another-node"
    service.want(attempt(attempt_id=21, image="example/train:1"))
    assert ended(service, 21).detail == "no container tool on this node for image example/train:1"


def test_a_gpu_is_handed_on_only_when_its_holder_is_gone(
    agent: AgentProcess, service: ScriptedService
) -> None:
    code = (
        "import signal, time\n"
        "def leave(*_):\n"
        "    time.sleep(0.5); raise SystemExit\n"
        "signal.signal(signal.SIGTERM, leave)\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)"
    )
    service.want(attempt(code, attempt_id=22))
    until(lambda: "ready" in service.text(22), "the first holder ready")
    with service.lock:
        del service.wanted[22]
        service.wanted[23] = attempt(attempt_id=23, fence=71)
    running(service, 23)
    waits = [r.detail for r in service.reports if r.attempt_id == 23 and r.detail]
    assert waits[0] == f"waiting for {gpu_uuid(0)} of attempt 22"
    assert ended(service, 22).end is End.STOPPED


def test_a_log_keeps_its_head_and_its_end_within_the_cap(
    agent: AgentProcess, service: ScriptedService
) -> None:
    code = "import sys; sys.stdout.write('head' + 'x' * 500_000 + 'tail')"
    service.want(attempt(code, attempt_id=24, log_cap_bytes=100_000))
    report = ended(service, 24)
    text = printed(service, 24)
    assert len(text) == 100_000
    assert text.startswith("head")
    assert text.endswith("tail")
    assert report.log_bytes_dropped == 500_008 - 100_000


def test_an_emulated_gpu_draws_less_while_its_job_says_that_it_waits(
    agent: AgentProcess, service: ScriptedService
) -> None:
    uuid = gpu_uuid(1)
    code = """if True:
        import os, time
        with open(os.environ["FAIRWATT_PROGRESS"], "a") as file:
            file.write('{"step": 1, "busy": 0.5}\\n')
        time.sleep(60)
    """
    service.want(attempt(code, attempt_id=41, gpu_uuids=(uuid,)))
    half_mw = 262_000  # 400 W computing, 124 W waiting
    until(
        lambda: any(s.power_mw == half_mw for s in service.samples if s.uuid == uuid),
        "a sample of half the time spent waiting",
    )


def test_every_joule_has_one_holder(agent: AgentProcess, service: ScriptedService) -> None:
    uuid = gpu_uuid(1)
    code = "import time; time.sleep(1)"
    service.want(attempt(code, attempt_id=40, gpu_uuids=(uuid,)))
    (energy,) = ended(service, 40).energy
    until(
        lambda: any(s.energy_mj > energy.now_mj for s in service.samples if s.uuid == uuid),
        "samples from after the attempt",
    )
    by_sequence = {sample.sequence: sample for sample in service.samples if sample.uuid == uuid}
    samples = [by_sequence[sequence] for sequence in sorted(by_sequence)]
    spent_mj = sum(
        later.energy_mj - earlier.energy_mj
        for earlier, later in itertools.pairwise(samples)
        if later.attempt_id == 40
    )
    assert spent_mj == energy.now_mj - energy.start_mj
    # An A100 at 400 W for about a second, not the 55 W of an idle one.
    assert spent_mj > 200_000


def test_tokens_are_kept_close(agent: AgentProcess, service: ScriptedService) -> None:
    identity = agent.state / "identity.json"
    assert identity.stat().st_mode & 0o777 == 0o600
    assert NODE_TOKEN in identity.read_text()
    kept = [path for path in agent.state.rglob("*") if path.is_file() and path != identity]
    assert not [path for path in kept if NODE_TOKEN.encode() in path.read_bytes()]
    assert NODE_TOKEN not in agent.said()
    assert JOIN_TOKEN not in agent.said()
