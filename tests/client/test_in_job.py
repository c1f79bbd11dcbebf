"""Helpers for programs that are jobs: what they write is what the agent reads."""

import inspect
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import fairwatt
import pytest
from fairwatt import in_job

from agent.measure.progress import Progress
from tests.client.examples import run_examples


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A process as an agent starts it, in a directory of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAIRWATT_JOB_ID", "12")
    monkeypatch.setenv("FAIRWATT_PROGRESS", str(tmp_path / "progress.jsonl"))
    monkeypatch.setenv("FAIRWATT_CHECKPOINT_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(in_job, "_callbacks", [])
    (tmp_path / "kept").mkdir()
    before = signal.getsignal(signal.SIGTERM)
    yield tmp_path
    signal.signal(signal.SIGTERM, before)
    in_job._asked.clear()


@pytest.mark.parametrize(
    "name", [name for name, _ in inspect.getmembers(in_job, inspect.isfunction) if name[0] != "_"]
)
def test_every_example_runs(name: str, job: Path) -> None:
    assert run_examples(getattr(in_job, name).__doc__, {"fairwatt": fairwatt})


def test_the_agent_reads_what_is_written(job: Path) -> None:
    fairwatt.progress(120)
    fairwatt.progress(240, busy=0.5)
    fairwatt.checkpoint({"step": 240}, step=240)
    lines = [json.loads(line) for line in (job / "progress.jsonl").read_text().splitlines()]
    assert all(line["boot_s"] > 0 for line in lines)
    read = Progress(job / "progress.jsonl", lambda: lines[-1]["boot_s"])
    read.read()
    assert (read.step, read.busy) == (240, 0.5)
    assert read.checkpoint_age_s(lines[-1]["boot_s"]) == 0


def test_a_kill_while_writing_leaves_the_earlier_checkpoint(
    job: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fairwatt.checkpoint({"step": 1}, step=1)

    def killed(_descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", killed)
    with pytest.raises(KeyboardInterrupt):
        fairwatt.checkpoint({"step": 2}, step=2)
    assert fairwatt.restore(default=None) == {"step": 1}


def test_outside_fairwatt_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("FAIRWATT_PROGRESS", "FAIRWATT_CHECKPOINT_DIR", "FAIRWATT_JOB_ID"):
        monkeypatch.delenv(name, raising=False)
    fairwatt.progress(1)
    assert fairwatt.job_id() is None
    assert fairwatt.restore(default=7) == 7
    assert list(tmp_path.iterdir()) == []


def test_the_cpus_there_are_now(job: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (job / "cpus").write_text("6\n")
    monkeypatch.setenv("FAIRWATT_CPUS_FILE", str(job / "cpus"))
    assert fairwatt.cpus() == 6


def test_a_preemption_is_heard_and_handlers_of_others_stay(job: Path) -> None:
    heard: list[str] = []
    signal.signal(signal.SIGTERM, lambda number, frame: heard.append("theirs"))
    assert not fairwatt.preempted()
    fairwatt.on_preemption(lambda: heard.append("ours"))
    signal.raise_signal(signal.SIGTERM)
    assert fairwatt.preempted()
    assert sorted(heard) == ["ours", "theirs"]
    signal.raise_signal(signal.SIGTERM)
    assert len(heard) == 2
