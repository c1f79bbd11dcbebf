"""The shim by itself, as it runs when there is no agent."""

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.clock import boot_s
from agent.run.capped_log import CappedLog
from agent.run.processes import Process
from agent.run.shims import Shims
from tests.agent.service import until


class Bench:
    """A run directory and the shims started on it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.shims: list[Process] = []
        self._server = Shims()
        self.lease(kill_in_s=600.0)

    def lease(self, kill_in_s: float, run_lease_s: float = 60.0) -> None:
        document = {"boot_id": "b", "kill_at_s": boot_s() + kill_in_s, "run_lease_s": run_lease_s}
        draft = self.directory / "lease.draft"
        draft.write_text(json.dumps(document))
        draft.replace(self.directory / "lease.json")

    def spec(self, code: str, **changes: Any) -> None:
        process = {
            "argv": [sys.executable, "-c", code],
            "env": {},
            "hidden": [],
            "rank": 0,
            "logs": ["stdout.log", "stderr.log"],
        }
        document = {
            "processes": [process],
            "wrapped": False,
            "kill_argv": [],
            "cwd": str(self.directory),
            "uid": None,
            "gid": None,
            "cpus": [],
            "cgroup_procs": [],
            "unshare": 0,
            "ways": {},
            "limits": {},
            "grace_s": 30.0,
            "time_limit_s": None,
            "scratch": [str(self.directory)],
            "scratch_bytes": 0,
            "log_cap_bytes": 1000,
            "lease_file": str(self.directory / "lease.json"),
        }
        (self.directory / "spec.json").write_text(json.dumps(document | changes))

    def start(self) -> Process:
        self.shims.append(self._server.start(self.directory))
        return self.shims[-1]

    def close(self) -> None:
        for process in self.shims:
            process.send(signal.SIGKILL)
        self._server.close()

    def result(self) -> dict[str, Any]:
        until(lambda: not self.shims[-1].alive, "the shim gone")
        result: dict[str, Any] = json.loads((self.directory / "exit.json").read_text())
        return result

    def printed(self) -> str:
        return (self.directory / "stdout.log").read_text()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.close()


READY = "import time; print('ready', flush=True); time.sleep(600)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + READY


def ready(bench: Bench) -> None:
    until(lambda: (bench.directory / "stdout.log").exists() and bench.printed(), "the job ready")


@pytest.mark.process
def test_of_two_shims_one_runs_the_attempt(bench: Bench) -> None:
    bench.spec("open('ran', 'a').write('once')")
    shims = [bench.start(), bench.start()]
    until(lambda: not any(process.alive for process in shims), "both gone")
    assert (bench.directory / "shim.log").read_text() == ""
    assert (bench.directory / "ran").read_text() == "once"
    assert bench.result()["exit_code"] == 0


@pytest.mark.process
def test_a_lapsed_lease_starts_nothing(bench: Bench) -> None:
    bench.spec("open('ran', 'w')")
    bench.lease(kill_in_s=-1.0)
    bench.start()
    assert bench.result()["why"] == "lease_lost"
    assert not (bench.directory / "ran").exists()


@pytest.mark.process
def test_a_lease_that_is_not_renewed_ends_even_the_stubborn(bench: Bench) -> None:
    bench.spec(STUBBORN)
    bench.start()
    ready(bench)
    bench.lease(kill_in_s=0.5, run_lease_s=1.0)
    result = bench.result()
    assert (result["why"], result["signal"]) == ("lease_lost", 9)


@pytest.mark.process
@pytest.mark.parametrize(("attempt", "why"), [("7", "exited"), ("8", "lease_lost")])
def test_an_attempt_lives_as_long_as_its_own_lease(bench: Bench, attempt: str, why: str) -> None:
    """Seven has one; eight has the node's, which is over."""
    bench.lease(kill_in_s=-1.0)
    document = json.loads((bench.directory / "lease.json").read_text())
    document["attempts"] = {"7": {"kill_at_s": boot_s() + 600.0, "run_lease_s": 3600.0}}
    (bench.directory / "lease.json").write_text(json.dumps(document))
    bench.spec("pass", attempt=attempt)
    bench.start()
    assert bench.result()["why"] == why


@pytest.mark.process
def test_a_missing_or_broken_lease_file_is_waited_out(bench: Bench) -> None:
    bench.spec("import time; time.sleep(0.5)")
    (bench.directory / "lease.json").write_text("{")
    bench.start()
    assert bench.result()["why"] == "exited"


@pytest.mark.process
def test_a_second_stop_can_only_shorten_the_first(bench: Bench) -> None:
    bench.spec(STUBBORN)
    process = bench.start()
    ready(bench)
    process.send(signal.SIGTERM)
    stop = bench.directory / "stop.json"
    stop.write_text('{"grace_s": 0}')
    process.send(signal.SIGTERM)
    assert (bench.result()["why"], bench.result()["signal"]) == ("stopped", 9)


@pytest.mark.process
def test_interrupts_from_a_terminal_do_not_reach_the_job(bench: Bench) -> None:
    bench.spec("import time; print('ready', flush=True); time.sleep(0.5)")
    process = bench.start()
    ready(bench)
    process.send(signal.SIGINT)
    process.send(signal.SIGHUP)
    assert bench.result()["exit_code"] == 0


@pytest.mark.parametrize(
    ("written", "kept", "dropped"),
    [
        (b"abc", b"abc", 0),
        (b"0123456789", b"0123456789", 0),
        (b"0123456789X", b"01234" + b"6789X", 1),
        (b"head " + b"." * 100 + b" tail", b"head " + b" tail", 100),
        (b"", b"", 0),
    ],
)
@pytest.mark.parametrize("piece", [1, 3, 1000])
def test_a_log_is_cut_in_the_middle(
    tmp_path: Path, written: bytes, kept: bytes, dropped: int, piece: int
) -> None:
    log = CappedLog(tmp_path / "log", cap=10)
    for start in range(0, len(written), piece):
        log.write(written[start : start + piece])
    log.close()
    assert (tmp_path / "log").read_bytes() == kept
    assert log.dropped == dropped
