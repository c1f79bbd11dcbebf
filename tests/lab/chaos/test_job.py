"""The campaign's job, and what the checker reads of it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lab.chaos.client import JOB
from lab.chaos.journals import processes_in, runs

pytestmark = pytest.mark.process


def _started(home: Path, attempt: int, *arguments: str) -> "subprocess.Popen[bytes]":
    place = home / "job-7"
    place.mkdir(exist_ok=True)
    env = {
        "FAIRWATT_CHECKPOINT_DIR": str(place),
        "FAIRWATT_PROGRESS": str(home / "progress.jsonl"),
        "FAIRWATT_ATTEMPT_ID": str(attempt),
        "FAIRWATT_JOB_ID": "7",
        "FAIRWATT_NODE": "node-1",
        "CUDA_VISIBLE_DEVICES": "GPU-a,GPU-b",
    }
    argv = [sys.executable, "-I", "-S", str(JOB), *arguments]
    return subprocess.Popen(argv, env=os.environ | env)


def test_it_writes_where_and_how_far_it_ran(tmp_path: Path) -> None:
    assert _started(tmp_path, 3, "0.2").wait(30) == 0
    (run,) = runs(processes_in(tmp_path))
    (process,) = run.processes
    assert (run.job, run.attempt, run.whole) == (7, 3, True)
    assert (process.node, process.gpus) == ("node-1", ("GPU-a", "GPU-b"))
    assert run.last_s - run.start_s >= 0.2


def test_asked_to_stop_it_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    first = _started(tmp_path, 3, "600", "--keeps")
    saved = tmp_path / "job-7" / "saved-0"
    while not saved.exists():
        assert first.poll() is None
    first.send_signal(signal.SIGTERM)
    assert first.wait(30) == 143
    done_s = float(saved.read_text())

    assert _started(tmp_path, 4, str(done_s), "--keeps").wait(30) == 0

    stopped, whole = runs(processes_in(tmp_path))
    assert (stopped.whole, whole.whole) == (False, True)
    resumed = json.loads((tmp_path / "job-7" / "journal-4-0.jsonl").read_text().partition("\n")[0])
    assert resumed["from_s"] == done_s
