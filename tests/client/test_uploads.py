"""A folder as an archive, and its way to the service in parts."""

import io
import os
import tarfile
from pathlib import Path
from typing import Any

import fairwatt
import msgspec
import pytest
from fairwatt.call import Reply
from fairwatt.calls.uploads import UploadCalls
from fairwatt.folder import packed

from tests.client.test_retry import GONE, Driver, answer, problem

PART = 64


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "code" / "__pycache__").mkdir(parents=True)
    (tmp_path / "code" / "__pycache__" / "x.pyc").write_bytes(b"x")
    (tmp_path / "code" / "train.py").write_text("print(1)")
    (tmp_path / "run.sh").write_text("#!/bin/sh")
    (tmp_path / "run.sh").chmod(0o755)
    return tmp_path


def test_the_same_files_are_the_same_bytes(folder: Path) -> None:
    first = packed(folder)
    os.utime(folder / "code" / "train.py", (1, 1))
    assert packed(folder) == first
    with tarfile.open(fileobj=io.BytesIO(first.data)) as tar:
        members = {member.name: member for member in tar.getmembers()}
    assert set(members) == {"code", "code/train.py", "run.sh"}
    assert members["run.sh"].mode & 0o100
    assert {member.uid for member in members.values()} == {0}


def test_what_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(fairwatt.FairwattError, match="is no folder"):
        packed(tmp_path / "none")


class Storage(Driver):
    """A service that takes parts; the second is lost on its way back."""

    def __init__(self) -> None:
        super().__init__([])
        self.data, self.size, self.digest, self.lost = b"", 0, "", False

    def _perform(self, step: Any) -> Any:
        if not hasattr(step, "call"):
            return super()._perform(step)
        call = step.call
        self.sent.append(call)
        if call.method == "POST":
            self.size, self.digest = call.body["size"], call.body["digest"]
        if call.method == "PATCH":
            if call.query["offset"] != len(self.data):
                return problem(409, "wrong_offset")
            self.data += call.body
            if len(self.data) > PART and not self.lost:
                self.lost = True
                return GONE
        return self._state()

    def _state(self) -> Reply:
        done = len(self.data) == self.size
        facts = {"digest": self.digest, "size": self.size, "offset": len(self.data)}
        more = {"id": None if done else 31, "stored": done, "part_bytes": PART, "expires_at": None}
        return answer({**facts, **more})


def test_parts_go_on_where_the_connection_broke(folder: Path) -> None:
    storage, heard = Storage(), []

    class Asker(UploadCalls):
        rules = following = storage.rules()

    flow = UploadCalls.upload_folder.describe(
        Asker(), folder, on_progress=lambda done, total: heard.append((done, total))
    )
    workdir = storage.run(flow)
    archive = packed(folder)
    assert storage.data == archive.data
    assert workdir == fairwatt.Workdir(archive=archive.digest)
    assert [call.method for call in storage.sent].count("GET") == 1
    assert heard[0] == (0, len(archive.data))
    assert heard[-1] == (len(archive.data), len(archive.data))
    spec = fairwatt.JobSpec(argv=["true"], workdir=workdir)
    assert msgspec.json.decode(msgspec.json.encode(spec))["workdir"] == {"archive": archive.digest}
