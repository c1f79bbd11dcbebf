"""Crash points: each names a function that is there, fires once, and only where it is armed."""

import asyncio
import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from lab.chaos.crash import hook
from lab.chaos.crash.points import POINTS, CrashEvent, CrashMoment, CrashPoint
from lab.chaos.launch import ROOT, SITE

# An agent's lease is renewed twice.
PROGRAM = """
from pathlib import Path
from agent.remember.lease import RunLease
lease = RunLease(Path("lease.json"), "boot", lambda: 0.0)
for second in (1, 2):
    lease.renew(second, 60)
    print(second, flush=True)
"""


def test_there_are_enough_of_them_and_each_has_a_name_of_its_own() -> None:
    assert len(POINTS) >= 40
    assert len({point.name for point in POINTS}) == len(POINTS)


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_each_stands_at_a_function_that_is_there(point: CrashPoint) -> None:
    found: object = importlib.import_module(point.module)
    for name in point.function.split("."):
        found = getattr(found, name)
    assert callable(found)


def _run(directory: Path, point: str) -> "subprocess.CompletedProcess[str]":
    (directory / "reached").mkdir(exist_ok=True)
    (directory / "armed").write_text(point)
    env = os.environ | {"PYTHONPATH": f"{SITE}:{ROOT}", "FAIRWATT_CRASH_DIR": str(directory)}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=directory, env=env, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


@pytest.mark.process
@pytest.mark.parametrize(("when", "written"), [("before", False), ("after", True)])
def test_who_comes_by_an_armed_point_dies_there_once(
    tmp_path: Path, when: str, written: bool
) -> None:
    first = _run(tmp_path, f"agent.lease.{when}")
    assert (first.returncode, first.stdout) == (-signal.SIGKILL, "")
    assert (tmp_path / "lease.json").exists() == written
    assert (tmp_path / "reached" / f"agent.lease.{when}").exists()
    assert _run(tmp_path, f"agent.lease.{when}").stdout == "1\n2\n"


@pytest.mark.process
def test_what_is_not_armed_does_not_fire(tmp_path: Path) -> None:
    program = _run(tmp_path, "agent.sync.before")
    assert (program.returncode, program.stdout) == (0, "1\n2\n")


def _commit_point(when: CrashMoment) -> CrashPoint:
    return CrashPoint("place", "module", "function", CrashEvent.COMMIT, when)


@pytest.mark.parametrize("when", list(CrashMoment))
def test_a_commit_fires_once_its_function_was_entered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: CrashMoment
) -> None:
    (tmp_path / "armed").write_text("place")
    story: list[str] = []
    monkeypatch.setattr(hook, "fire", lambda point, directory: story.append("fires"))
    place = hook.wrapped(_commit_point(when), tmp_path, lambda: story.append("placed"))
    commit = hook.announced(CrashEvent.COMMIT, tmp_path, lambda: story.append("committed"))

    commit()
    place()
    commit()
    commit()

    around = ["fires", "committed"] if when is CrashMoment.BEFORE else ["committed", "fires"]
    assert story == ["committed", "placed", *around, "committed"]


def test_a_function_that_waits_is_wrapped_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    story: list[str] = []
    monkeypatch.setattr(hook, "fire", lambda point, directory: story.append(point.when))

    async def sync() -> str:
        story.append("sent")
        return "answer"

    both = sync
    for when in CrashMoment:
        both = hook.wrapped(CrashPoint("s", "m", "f", CrashEvent.CALL, when), tmp_path, both)
    assert asyncio.run(both()) == "answer"
    assert story == ["before", "sent", "after"]
