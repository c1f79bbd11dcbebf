"""The supervisor over real processes: order, logs, restarts and every way to stop."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from scheduler_service.embedded.supervisor import BACKOFF_MAX_S, backoff_s
from tests.scheduler_service.embedded.processes import alive, descendants, eventually, script

SUPERVISE = """
import json
import sys
from pathlib import Path
from scheduler_service.embedded import supervisor
from scheduler_service.embedded.console import Console
from scheduler_service.embedded.errors import EmbeddedError
from scheduler_service.embedded.program import Program

supervisor.BACKOFF_FIRST_S = 0.01
home = Path(sys.argv[1])
try:
    with supervisor.ProgramSupervisor(Console(sys.stdout)) as watch:
        for name, shell, kind in json.loads(sys.argv[2]):
            together = kind == "neighbour"
            argv = ("sh", "-c", shell)
            program = Program(name, argv, home, stop_grace_s=20, stops_together=together)
            (watch.run if kind == "step" else watch.start)(program)
        print("all started")
        watch.watch()
except supervisor.Stopped:
    print("stopped while starting")
except EmbeddedError as error:
    sys.exit(str(error))
print("all stopped")
"""
# It kills first and speaks then: with the supervisor killed, speaking ends a shell (SIGPIPE).
NAP = "trap 'kill $!; echo bye; exit 0' TERM; sleep 1000 & echo up; : > napping; wait"
AFTER_NAP = "while [ ! -e napping ]; do sleep 0.02; done"
STUBBORN = "trap '' TERM INT; echo up; while :; do sleep 0.05; done"

Programs = list[tuple[str, str, str]]


class Run:
    def __init__(self, home: Path, process: subprocess.Popen[bytes]) -> None:
        self.home, self.process = home, process

    @property
    def log(self) -> str:
        return (self.home / "log").read_text()

    def wait_for(self, text: str) -> None:
        eventually(lambda: text in self.log, f"{text!r} in the log")


@contextmanager
def supervised(home: Path, programs: Programs) -> Iterator[Run]:
    with script(SUPERVISE, home, json.dumps(programs), log=home / "log") as process:
        yield Run(home, process)


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stop_signal_stops_all_in_reverse_order(home: Path, number: signal.Signals) -> None:
    programs = [("one", NAP, "service"), ("two", NAP, "service"), ("three", NAP, "service")]
    with supervised(home, programs) as run:
        for name, _, _ in programs:
            run.wait_for(f"{name:<8} | up")
        run.wait_for("all started")
        family = descendants(run.process.pid)
        run.process.send_signal(number)
        assert run.process.wait() == 0
        assert not alive(family)
    said = [line.split()[0] for line in run.log.splitlines() if line.endswith("bye")]
    assert said == ["three", "two", "one"]


@pytest.mark.process
def test_neighbours_are_asked_to_stop_at_once(home: Path) -> None:
    """Each leaves only once the other was asked as well; what they need goes after both."""
    leaves = "trap 'kill $!; : > {}; until [ -e {} ]; do :; done; echo bye; exit 0' TERM;"
    naps = "sleep 1000 & echo up; wait"
    left, right = (leaves.format(*files) + naps for files in (("a", "b"), ("b", "a")))
    programs = [
        ("base", NAP, "service"),
        ("left", left, "neighbour"),
        ("right", right, "neighbour"),
    ]
    with supervised(home, programs) as run:
        for name, _, _ in programs:
            run.wait_for(f"{name:<8} | up")
        run.process.terminate()
        assert run.process.wait() == 0
    said = [line.split()[0] for line in run.log.splitlines() if line.endswith("bye")]
    assert (sorted(said[:2]), said[2:]) == (["left", "right"], ["base"])


@pytest.mark.process
def test_lines_carry_their_programs_name_and_stay_whole(home: Path) -> None:
    chatter = "for i in $(seq 200); do printf 'start-'; printf '%s-end\\n' $i; done"
    programs = [("left", chatter, "step"), ("right", f"{chatter} >&2", "step")]
    with supervised(home, [*programs, ("nap", NAP, "service")]) as run:
        run.wait_for("all started")
        run.process.terminate()
        run.process.wait()
    for name in ("left", "right"):
        expected = [f"{name:<8} | start-{number}-end" for number in range(1, 201)]
        assert [line for line in run.log.splitlines() if line.startswith(name)] == expected


@pytest.mark.process
def test_the_last_words_without_a_newline_are_shown(home: Path) -> None:
    with supervised(home, [("step", "printf unfinished", "step")]) as run:
        run.wait_for("step     | unfinished")


@pytest.mark.process
def test_what_dies_is_restarted_and_its_orphans_are_cleared(home: Path) -> None:
    with supervised(home, [("one", NAP, "service"), ("two", NAP, "service")]) as run:
        for name in ("one", "two"):
            run.wait_for(f"{name:<8} | up")
        victim = psutil.Process(run.process.pid).children()[0]
        orphans = victim.children()
        assert orphans
        victim.kill()
        run.wait_for("was killed by SIGKILL; starting it again in")
        eventually(lambda: not alive(orphans), "the victim's children are gone")
        eventually(lambda: len(descendants(run.process.pid)) == 4, "both run with their sleeps")
        run.process.terminate()
        assert run.process.wait() == 0


@pytest.mark.process
def test_a_program_that_keeps_dying_is_tried_again_and_can_be_stopped(home: Path) -> None:
    with supervised(home, [("flaky", "echo try; exit 3", "late"), ("nap", NAP, "service")]) as run:
        eventually(lambda: run.log.count("try") >= 3, "three tries")
        assert "ended with code 3; starting it again in" in run.log
        run.process.terminate()
        assert run.process.wait() == 0


@pytest.mark.process
def test_a_step_that_fails_stops_everything_and_says_which(home: Path) -> None:
    programs = [("nap", NAP, "service"), ("migrate", f"{AFTER_NAP}; echo broken; exit 7", "step")]
    with supervised(home, programs) as run:
        assert run.process.wait() == 1
    assert "migrate  | broken" in run.log
    assert "migrate ended with code 7" in run.log
    assert "nap      | bye" in run.log
    assert "all started" not in run.log


@pytest.mark.process
def test_a_stop_during_a_step_ends_the_step_too(home: Path) -> None:
    with supervised(home, [("nap", NAP, "service"), ("long", NAP, "step")]) as run:
        run.wait_for("long     | up")
        family = descendants(run.process.pid)
        run.process.send_signal(signal.SIGINT)
        assert run.process.wait() == 0
        assert not alive(family)
    assert "stopped while starting" in run.log


@pytest.mark.process
def test_a_second_interrupt_kills_what_would_not_go(home: Path) -> None:
    with supervised(home, [("mule", STUBBORN, "service")]) as run:
        run.wait_for("mule     | up")
        run.wait_for("all started")
        family = descendants(run.process.pid)
        run.process.send_signal(signal.SIGINT)
        eventually(lambda: _caught(run.process.pid), "the first interrupt arrived")
        assert run.process.poll() is None
        run.process.send_signal(signal.SIGINT)
        assert run.process.wait() == 0
        eventually(lambda: not alive(family), "the mule is gone")
    assert "is killed" in run.log


def _caught(pid: int) -> bool:
    """No signal is pending, so the first is not merged with the second."""
    status = Path(f"/proc/{pid}/status").read_text()
    pending = [line.split()[1] for line in status.splitlines() if line.startswith("ShdPnd")]
    return all(int(mask, 16) == 0 for mask in pending)


@pytest.mark.process
def test_when_the_supervisor_is_killed_nobody_is_left(home: Path) -> None:
    deep = "trap 'trap : TERM; kill 0' TERM; sh -c 'sleep 1000 & wait' & echo up; wait"
    with supervised(home, [("one", NAP, "service"), ("two", deep, "service")]) as run:
        run.wait_for("two      | up")
        run.wait_for("all started")
        eventually(lambda: len(descendants(run.process.pid)) == 5, "two naps and what they started")
        family = descendants(run.process.pid)
        run.process.kill()
        run.process.wait()
        eventually(lambda: not alive(family), "no orphan")


@pytest.mark.parametrize(
    ("deaths", "wait_s"), [(1, 0.5), (2, 1.0), (3, 2.0), (7, BACKOFF_MAX_S), (5000, BACKOFF_MAX_S)]
)
def test_the_wait_doubles_up_to_a_limit(deaths: int, wait_s: float) -> None:
    assert backoff_s(deaths) == wait_s
