"""What goes wrong between real agents and the real service: nothing is lost, nothing runs twice.

Every process is real: API, worker, beat, agents, shims and jobs; only the GPUs are emulated.
"""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from django.utils import timezone

from agent.wire import decode
from agent.wire.sync import AttemptReport
from tests.agent.process import AgentProcess, alive
from tests.agent.service import until
from tests.live.conftest import Seeded
from tests.live.echo import Echo
from tests.live.station import NODE_LEASE_S, RUN_LEASE_S, Running, Station, for_as_long_as, station

GATED = "import os, time\nwhile not os.path.exists({gate!r}): time.sleep(0.01)\n{then}"


@pytest.fixture(scope="module")
def served(seeded: Seeded, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Station]:
    database, _ = seeded.clone("faults")
    directory = tmp_path_factory.mktemp("station")
    with station(directory, database, seeded.world.secrets["operator"]) as made:
        yield made


@pytest.fixture
def place(served: Station, request: pytest.FixtureRequest) -> Iterator[Station]:
    """A cluster of the test's own; afterwards no journal shows a GPU in two hands."""
    served.cluster(_cluster(request.node.name))
    yield served
    assert served.held_twice() == []
    served.close()


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> str:
    return _cluster(request.node.name)


def _cluster(test: str) -> str:
    return test.removeprefix("test_").replace("_", "-")[:40].strip("-")


def _gated(gate: Path, then: str) -> str:
    return GATED.format(gate=str(gate), then=then)


def _ends(agent: AgentProcess) -> list[AttemptReport]:
    lines = [entry for entry in agent.journal() if entry["event"] == "release"]
    return [decode(AttemptReport, str(entry["report"]).encode()) for entry in lines]


def test_a_killed_agent_takes_up_the_job_it_left(place: Station, cluster: str) -> None:
    agent = place.join(cluster, "killed")
    job = place.run(cluster, agent)
    (epoch,) = place.ask("SELECT epoch FROM clusters_node WHERE name = 'killed'")

    agent.kill()
    agent.start()

    raised = (
        "SELECT 1 FROM clusters_node WHERE name = 'killed' AND epoch > %s AND sync_sequence > 3"
    )
    until(lambda: place.ask(raised, *epoch), "syncs of the new agent")
    assert agent.job_pids(job.attempt_id) == {job.pid}
    (attempt,) = place.attempts(job.job_id)
    assert (attempt["id"], attempt["state"]) == (job.attempt_id, "running")
    place.call("POST", f"jobs/{job.job_id}/cancel/")
    assert place.over(job.job_id)["state"] == "cancelled"
    assert not alive(job.pid)


def test_an_end_without_an_agent_is_told_by_the_next(
    place: Station, cluster: str, tmp_path: Path
) -> None:
    agent = place.join(cluster, "absent")
    gate = tmp_path / "gate"
    job = place.run(cluster, agent, _gated(gate, "exit(42)"))

    agent.kill()
    gate.touch()
    until(lambda: not alive(job.pid), "the job's end")
    agent.start()

    ended = place.over(job.job_id)
    assert (ended["state"], ended["reason"]) == ("failed", "exit_42")
    assert place.moves(job.job_id) == ["queued", "placed", "running", "failed"]
    assert len(place.attempts(job.job_id)) == 1


def test_agents_stopped_past_their_lease_have_no_job_left_when_they_go_on(
    place: Station, cluster: str
) -> None:
    """One agent alone, and one with its shim and job, as by a hypervisor that pauses a machine."""
    place.cluster(f"{cluster}-2")
    stopped, frozen = place.join(cluster, "stopped"), place.join(f"{cluster}-2", "frozen")
    given_up = place.run(cluster, stopped)
    paused = place.run(f"{cluster}-2", frozen, restartable=False)
    shim = psutil.Process(frozen.shim_pid(paused.attempt_id))
    for process in (psutil.Process(frozen.running.pid), shim, psutil.Process(paused.pid)):
        process.suspend()
    stopped.signal(signal.SIGSTOP)
    stopped_s = time.monotonic()

    until(lambda: not alive(given_up.pid), "the job killed by its shim", 2 * RUN_LEASE_S)
    assert place.attempts(given_up.job_id)[0]["state"] == "running", "dead before it is free"
    for job in (given_up, paused):
        until(lambda: _first_is_lost(place, job), "the attempt given up", 2 * RUN_LEASE_S)  # noqa: B023
    assert time.monotonic() - stopped_s > RUN_LEASE_S
    assert alive(paused.pid)
    stopped.signal(signal.SIGCONT)
    frozen.signal(signal.SIGCONT)

    said = f"attempt {paused.attempt_id} is no longer this node's: killing it"
    until(lambda: said in frozen.said(), "the 409 heard by the agent")
    until(lambda: not alive(paused.pid), "the job killed")
    # The agent may have killed what was left of it already.
    with suppress(psutil.NoSuchProcess):
        shim.resume()
    until(lambda: _ends(frozen), "its end in the journal")
    until(lambda: place.node("frozen")["state"] == "ready", "the node back")
    until(lambda: place.job(given_up.job_id)["state"] == "running", "the other running again", 30)
    assert [each["number"] for each in place.attempts(given_up.job_id)] == [1, 2]
    assert place.job(paused.job_id)["reason"] == "node_lost"
    assert [end.end for end in _ends(stopped)] == ["lease_lost"]


def _first_is_lost(place: Station, job: Running) -> bool:
    return bool(place.attempts(job.job_id)[0]["state"] == "lost")


def test_while_the_api_is_down_nothing_is_lost_or_restarted(
    place: Station, cluster: str, tmp_path: Path
) -> None:
    """For longer than a node lease and less than a run lease, as 60 s are in production."""
    agents = [place.join(cluster, f"down-{number}") for number in range(3)]
    gate = tmp_path / "gate"
    ending = place.submit(cluster, _gated(gate, "print('meanwhile')"))
    lasting = place.submit(cluster)
    for job_id in (ending, lasting):
        until(lambda: place.job(job_id)["state"] == "running", "the job running", 30)  # noqa: B023
    (attempt,) = place.attempts(lasting)
    holder = next(agent for agent in agents if agent.run_dir(attempt["id"]))
    pids = holder.job_pids(attempt["id"])

    brake = "SELECT 1 FROM clusters_cluster WHERE name = %s AND brake_since_at IS NOT NULL"
    lost = "SELECT 1 FROM clusters_node WHERE name LIKE 'down-%%' AND state <> 'ready'"
    with place.api_down():
        gate.touch()
        until(lambda: place.ask(brake, cluster), "the brake on")
        for_as_long_as(NODE_LEASE_S, lambda: place.ask(lost) == [])

    assert place.over(ending)["state"] == "succeeded"
    until(lambda: place.printed(ending) == "meanwhile\n", "what it printed meanwhile")
    until(lambda: not place.ask(brake, cluster), "the brake off", 30)
    assert place.job(lasting)["state"] == "running"
    assert holder.job_pids(attempt["id"]) == pids
    assert [len(place.attempts(job_id)) for job_id in (ending, lasting)] == [1, 1]


def test_reports_that_come_twice_late_and_out_of_order_count_once(
    place: Station, cluster: str
) -> None:
    code = (
        "import os, time\n"
        "for step in range(1, 6):\n"
        "    print('step', step, flush=True)\n"
        "    open(os.environ['FAIRWATT_PROGRESS'], 'a').write('{\"step\": %d}\\n' % step)\n"
        "    time.sleep(0.3)\n"
    )
    with Echo(place.site.url) as echo:
        agent = place.join(cluster, "echoed", url=echo.url)
        job_id = place.submit(cluster, code)
        ended = place.over(job_id)
        text = "".join(f"step {step}\n" for step in range(1, 6))
        until(lambda: place.printed(job_id) == text, "the whole log")
        assert echo.repeated > 20
        settle = (
            "UPDATE energy_meter SET due_at = now() WHERE attempt_id = %s AND final RETURNING 1"
        )
        (attempt,) = place.attempts(job_id)
        (end,) = until(lambda: _ends(agent), "the end in the journal")
        with place.database.connect() as connection:
            assert connection.execute(settle, [attempt["id"]]).fetchall() == [(1,)]
        drawn_mj = sum(each.now_mj - each.start_mj for each in end.energy)
        until(lambda: _billed(place, job_id) == drawn_mj, f"{drawn_mj} mJ in the ledger", 30)
    assert (ended["state"], ended["work_done"]) == ("succeeded", 5)
    assert place.moves(job_id) == ["queued", "placed", "running", "succeeded"]


def _billed(place: Station, job_id: int) -> int:
    energy = place.call("GET", f"jobs/{job_id}/energy/")
    return sum(total["gpu_mj"] for total in energy["totals"])


def test_of_two_agents_with_one_identity_the_older_is_fenced(place: Station, cluster: str) -> None:
    older = place.join(cluster, "twin")
    job = place.run(cluster, older)
    copy = older.state.with_name("twin-copy")
    copy.mkdir()
    shutil.copy2(older.state / "identity.json", copy)

    newer = place.agent("twin-copy", "twin").start()

    assert older.wait() == 3
    assert not alive(job.pid)
    # The newer one knows nothing of the attempt, and is not told to start what others may run.
    unheard = "SELECT 1 FROM jobs_part WHERE attempt_id = %s AND unreported_at IS NOT NULL"
    until(lambda: place.ask(unheard, job.attempt_id), "the service noticing")
    for_as_long_as(1.0, lambda: newer.run_dir(job.attempt_id) is None)
    assert newer.running.poll() is None
    assert place.node("twin")["state"] == "ready"
    second = place.run(cluster, newer)
    assert place.attempts(second.job_id)[0]["state"] == "running"


def test_a_node_clock_an_hour_ahead_has_no_effect(
    place: Station, cluster: str, tmp_path: Path
) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no compiler for a library that puts the clock wrong")
    wrong = tmp_path / "wrongclock.so"
    source = Path(__file__).parents[1] / "agent" / "wrongclock.c"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", wrong, source], check=True)
    preload = {"LD_PRELOAD": str(wrong)}
    assert _wall_clock_s(preload) > _wall_clock_s({}) + 3000
    place.join(cluster, "ahead", **preload)
    before = timezone.now()
    job_id = place.submit(cluster, "import time; time.sleep(1)")

    assert place.over(job_id)["state"] == "succeeded"

    after = timezone.now()
    (times,) = place.ask(
        "SELECT since_at, until_at, started_at, ended_at FROM energy_meter"
        " JOIN jobs_attempt attempt ON attempt.id = attempt_id WHERE job_id = %s",
        job_id,
    )
    assert all(before <= at <= after for at in times)
    samples = "SELECT max(at) FROM energy_sample JOIN clusters_gpu gpu ON gpu.id = gpu_id" \
        " JOIN clusters_node node ON node.id = node_id WHERE node.name = 'ahead'"  # fmt: skip
    ((newest,),) = until(
        lambda: [row for row in place.ask(samples) if row[0] and row[0] >= before], "samples"
    )
    assert newest <= timezone.now()


def _wall_clock_s(env: dict[str, str]) -> float:
    argv = [sys.executable, "-S", "-c", "import time; print(time.time())"]
    return float(subprocess.run(argv, env=env, capture_output=True, check=True).stdout)
