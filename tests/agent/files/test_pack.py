"""What is packed is what lies in the working directory: links lead nowhere else."""

import hashlib
import io
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from agent.files.folders import FOLDER
from agent.files.pack import pack


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("of somebody else")
    made = tmp_path / "work"
    (made / "out" / "deep").mkdir(parents=True)
    (made / "out" / "weights.bin").write_text("{}")
    (made / "out" / "deep" / "log").write_text("epoch 1")
    return made


def packed(work: Path, path: str, most_bytes: int = 2**20) -> tuple[dict[str, Any], bytes]:
    spool, descriptor = io.BytesIO(), os.open(work, FOLDER)
    try:
        return pack(descriptor, path, spool, most_bytes=most_bytes), spool.getvalue()
    finally:
        os.close(descriptor)


def test_a_file_is_sent_as_it_is(work: Path) -> None:
    said, data = packed(work, "out/weights.bin")
    digest = hashlib.sha256(b"{}").hexdigest()
    assert (said, data) == ({"size": 2, "digest": digest, "packed": False}, b"{}")


def test_a_folder_is_one_archive_with_links_as_links(work: Path) -> None:
    (work / "out" / "away").symlink_to(work.parent / "secret")
    (work / "out" / "elsewhere").symlink_to(work.parent)
    os.mkfifo(work / "out" / "pipe")
    said, data = packed(work, "out")
    assert said["packed"]
    assert (said["size"], said["digest"]) == (len(data), hashlib.sha256(data).hexdigest())
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        kinds = {member.name: member.type for member in archive.getmembers()}
        log = archive.extractfile("out/deep/log")
        assert log is not None
        assert log.read() == b"epoch 1"
    links = {name for name, kind in kinds.items() if kind == tarfile.SYMTYPE}
    assert links == {"out/away", "out/elsewhere"}
    assert set(kinds) - links == {"out", "out/deep", "out/deep/log", "out/weights.bin"}


def test_the_same_folder_makes_the_same_bytes(work: Path) -> None:
    assert packed(work, "out") == packed(work, "out")


def test_nothing_is_packed_through_a_link(work: Path) -> None:
    (work / "link").symlink_to(work.parent / "secret")
    (work / "up").symlink_to(work.parent)
    for path in ("link", "up/secret"):
        said, data = packed(work, path)
        assert "fault" in said
        assert data == b""


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("none", "there is nothing at none"),
        ("out/none/weights.bin", "there is nothing at out/none/weights.bin"),
        ("out/weights.bin/x", "out/weights.bin/x leads through a link or a file"),
    ],
)
def test_what_is_not_there_is_said(work: Path, path: str, why: str) -> None:
    assert packed(work, path)[0] == {"fault": why}


def test_what_is_too_large_is_said(work: Path) -> None:
    assert packed(work, "out/deep/log", 3)[0] == {"fault": "out/deep/log: it is larger than 0 MiB"}
    assert "fault" in packed(work, "out", 3)[0]
