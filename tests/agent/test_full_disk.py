"""A node whose disk fills up: what runs keeps its exit code, and nothing new begins."""

import contextlib
import ctypes
import errno
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.remember import disk
from agent.remember.attempt_store import AttemptStore, double_holds
from agent.remember.disk import LEAST_FREE_BYTES, DiskSpace, write_in_place
from agent.remember.files import read_json
from agent.remember.journal import RESERVE_BYTES, Journal
from agent.run.capped_log import CappedLog
from agent.run.shim import EXIT_BYTES
from agent.talk.outgoing_reports import gpu_statuses
from agent.wire import AttemptRef, End
from tests.agent.conftest import Ground, attempt, ground_at
from tests.agent.fakes import ONE, SupervisedNode
from tests.agent.process import AgentProcess, gpu_uuid
from tests.agent.service import until

MNT_DETACH = 2  # linux/fs.h
_libc = ctypes.CDLL(None, use_errno=True)
BIG = LEAST_FREE_BYTES + 24 * 2**20


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SupervisedNode:
    return SupervisedNode(tmp_path, monkeypatch)


def mount(directory: Path, size: int) -> None:
    if _libc.mount(b"tmpfs", os.fsencode(directory), b"tmpfs", 0, f"size={size}".encode()):
        pytest.skip(f"no small file system here: {os.strerror(ctypes.get_errno())}")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    directory = tmp_path / "small"
    directory.mkdir()
    mount(directory, BIG)
    yield directory
    _libc.umount2(os.fsencode(directory), MNT_DETACH)


def fill(directory: Path) -> Path:
    """Until not a byte goes in."""
    filler = directory / "filler"
    with filler.open("ab", buffering=0) as file:
        for size in (2**20, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return filler


@pytest.mark.process
def test_an_attempt_that_ends_on_a_full_disk_keeps_its_exit_code_and_runs_once(
    small_disk: Path, tmp_path: Path
) -> None:
    with ground_at(small_disk) as ground:
        _lives_through_a_full_disk(ground, small_disk, tmp_path)


def lease_s(agent: AgentProcess) -> float:
    return float((read_json(agent.state / "lease.json") or {"kill_at_s": 0})["kill_at_s"])


def _lives_through_a_full_disk(ground: Ground, small_disk: Path, tmp_path: Path) -> None:
    agent, service = ground.agent().start(), ground.service
    gate = tmp_path / "gate"
    code = (
        "import os, sys, time\nprint('begun', flush=True)\n"
        f"while not os.path.exists({str(gate)!r}): time.sleep(0.01)\n"
        "print('x' * 100_000)\nsys.exit(7)"
    )
    service.want(attempt(code))
    until(lambda: "begun" in service.text(7), "the job at work")
    filler = fill(small_disk)
    until(
        lambda: "is full: 0 MiB free at" in service.gpus[gpu_uuid(1)].health_reason,
        "the free GPU out of scheduling",
    )
    assert service.gpus[gpu_uuid(0)].healthy
    service.want(attempt(attempt_id=8, fence=80, gpu_uuids=(gpu_uuid(1),)))
    until(lambda: 8 in service.ended, "the other refused")
    assert service.ended[8].end is End.REFUSED
    assert service.ended[8].detail.startswith("the node's disk is full: 0 MiB free at")
    full_s = lease_s(agent)
    until(lambda: lease_s(agent) > full_s, "the lease renewed on a full disk")
    agent.kill()
    agent.start()
    gate.touch()
    until(lambda: 7 in service.ended, "the end of the first")
    assert (service.ended[7].end, service.ended[7].exit_code) == (End.EXITED, 7)
    assert service.ended[7].log_bytes_dropped > 0
    filler.unlink()
    until(lambda: service.gpus[gpu_uuid(1)].healthy, "the GPU back")
    service.want(attempt("", attempt_id=9, fence=90, gpu_uuids=(gpu_uuid(1),)))
    until(lambda: 9 in service.ended, "the next one's end")
    assert service.ended[9].exit_code == 0
    assert not double_holds(agent.journal())


def test_room_behind_the_journal_is_kept_when_the_disk_fills(small_disk: Path) -> None:
    journal = Journal(small_disk / "journal.jsonl")
    fill(small_disk)
    for number in range(100):
        journal.append(event="note", number=number, text="x" * 1000)
    assert [entry["number"] for entry in Journal(journal.path).entries] == list(range(100))


def test_a_journal_without_room_says_so_and_stays_readable(small_disk: Path) -> None:
    journal = Journal(small_disk / "journal.jsonl")
    fill(small_disk)
    assert journal.has_room
    line: dict[str, Any] = {"event": "note", "text": "x" * 10_000}
    with contextlib.suppress(OSError):
        for _ in range(2 * RESERVE_BYTES // 10_000):
            journal.append(synced=False, **line)
    with pytest.raises(OSError, match=r"no room|No space"):
        journal.append(**line)
    assert not journal.has_room
    written = len(Journal(journal.path).entries)
    journal.compact([{"event": "note", "text": "y" * RESERVE_BYTES}])
    assert len(Journal(journal.path).entries) == written


def test_what_is_written_in_place_needs_no_room(small_disk: Path) -> None:
    path = small_disk / "exit.json"
    write_in_place(path, b"", EXIT_BYTES)
    assert read_json(path) is None
    fill(small_disk)
    write_in_place(path, b'{"exit_code": 3}', EXIT_BYTES)
    assert read_json(path) == {"exit_code": 3}


def test_a_log_counts_what_the_disk_did_not_take(small_disk: Path) -> None:
    log = CappedLog(small_disk / "log", cap=2**20)
    fill(small_disk)
    log.write(b"x" * 50_000)
    log.close()
    assert log.dropped == 50_000


def test_a_file_system_that_holds_no_blocks_is_not_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: int) -> int:
        ctypes.set_errno(errno.EOPNOTSUPP)
        return -1

    monkeypatch.setattr(disk._libc, "fallocate", unsupported)
    assert Journal(tmp_path / "journal.jsonl").has_room


def test_a_full_disk_is_said_with_what_is_free_and_what_is_needed(tmp_path: Path) -> None:
    assert DiskSpace(tmp_path, least_bytes=0).shortage() == ""
    why = DiskSpace(tmp_path, least_bytes=2**60).shortage()
    assert why.startswith("the node's disk is full: ")
    assert why.endswith(f" MiB free at {tmp_path}, {2**40} MiB needed to start work")


def test_a_full_node_refuses_and_takes_its_free_gpus_out(node: SupervisedNode) -> None:
    node.accept(ONE)
    attempts = node.supervisor.attempts
    attempts.disk = replace(attempts.disk, least_bytes=2**60)
    node.accept(ONE, attempt(attempt_id=8, fence=80, gpu_uuids=("GPU-b",)))
    assert node.launcher.launched == [ONE.ref]
    ended = attempts.store.ended[AttemptRef(8, 80)].report
    assert ended.end is End.REFUSED
    assert "disk is full" in ended.detail
    healthy = {gpu.uuid: gpu.healthy for gpu in gpu_statuses(attempts, node.supervisor.gpus)}
    assert healthy == {"GPU-a": True, "GPU-b": False}


def test_ends_that_stand_in_the_journal_survive_without_a_sync_of_each(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    store = AttemptStore(Journal(path))
    store.forget(AttemptRef(1, 2))
    assert AttemptStore(Journal(path)).known(AttemptRef(1, 2))
