"""Files over HTTP: whole and right, or not there at all."""

import gzip
import itertools
import socket
from pathlib import Path

import pytest

from lab.data.content import FileState, state_of
from lab.data.download import Limits
from lab.data.errors import BrokenTransfer, DataError, SourceUnreachable, WrongContent
from lab.data.fetch import PARTIAL, fetcher
from lab.data.manifest import Entry
from tests.lab.data.conftest import PACKED, PLAIN, left_in
from tests.lab.data.server import (
    Answer,
    Files,
    dripping,
    endless,
    refusing,
    silent,
    truncated,
    truncated_without_length,
    whole,
)

SOURCE = "/owner/name/r1/in/plain.csv"
ONCE = Limits(attempts=1)


def fetch(
    entry: Entry, directory: Path, mirror: str | None = None, limits: Limits | None = None
) -> list[int]:
    seen: list[int] = []
    with fetcher(directory, mirror, limits or Limits()) as source:
        source.fetch(entry, seen.append)
    return seen


def test_a_file_arrives_whole_and_progress_ends_at_its_size(
    files: Files, directory: Path, plain: Entry
) -> None:
    seen = fetch(plain, directory)
    assert (directory / "set/plain.csv").read_bytes() == PLAIN
    assert left_in(directory) == {"set/plain.csv"}
    assert seen == sorted(seen)
    assert seen[-1] == len(PLAIN)
    assert not (directory / PARTIAL).exists()


def test_what_is_stored_packed_is_packed_alike_every_time(
    files: Files, directory: Path, tmp_path: Path, packed: Entry
) -> None:
    fetch(packed, directory)
    fetch(packed, tmp_path / "again")
    first = (directory / "set/packed.csv.gz").read_bytes()
    assert gzip.decompress(first) == PACKED
    assert (tmp_path / "again/set/packed.csv.gz").read_bytes() == first


def test_a_mirror_serves_files_as_they_are_stored(
    files: Files, directory: Path, plain: Entry, packed: Entry
) -> None:
    for entry in (plain, packed):
        fetch(entry, directory, f"{files.url}/mirror/")
        assert state_of(entry.file, directory) is FileState.PRESENT
    assert [path for path, _ in files.asked] == [
        "/mirror/set/plain.csv",
        "/mirror/set/packed.csv.gz",
    ]


@pytest.mark.parametrize("broken", [truncated, truncated_without_length])
def test_a_broken_transfer_goes_on_where_it_stopped(
    files: Files, directory: Path, plain: Entry, broken: Answer
) -> None:
    files.misbehave(SOURCE, broken)
    fetch(plain, directory)
    assert (directory / "set/plain.csv").read_bytes() == PLAIN
    assert files.asked == [(SOURCE, None), (SOURCE, f"bytes={len(PLAIN) // 2}-")]


def test_the_next_fetch_goes_on_where_the_last_one_gave_up(
    files: Files, directory: Path, plain: Entry
) -> None:
    files.misbehave(SOURCE, truncated)
    with pytest.raises(BrokenTransfer, match="fetch again to go on"):
        fetch(plain, directory, limits=ONCE)
    assert state_of(plain.file, directory) is FileState.MISSING
    fetch(plain, directory, limits=ONCE)
    assert left_in(directory) == {"set/plain.csv"}
    assert files.asked[-1] == (SOURCE, f"bytes={len(PLAIN) // 2}-")


def test_a_server_without_ranges_starts_again(files: Files, directory: Path, plain: Entry) -> None:
    files.misbehave(SOURCE, truncated, whole)
    fetch(plain, directory)
    assert (directory / "set/plain.csv").read_bytes() == PLAIN
    assert len(files.asked) == 2


def test_a_range_that_is_refused_starts_again(files: Files, directory: Path, plain: Entry) -> None:
    files.misbehave(SOURCE, truncated, refusing(416))
    fetch(plain, directory)
    assert (directory / "set/plain.csv").read_bytes() == PLAIN
    assert [wanted for _, wanted in files.asked] == [None, f"bytes={len(PLAIN) // 2}-", None]


def test_a_file_that_changed_since_it_broke_is_fetched_anew(
    files: Files, directory: Path, plain: Entry
) -> None:
    files.content[SOURCE] = bytes(len(PLAIN))
    files.misbehave(SOURCE, truncated)
    with pytest.raises(BrokenTransfer):
        fetch(plain, directory, limits=ONCE)
    files.content[SOURCE] = PLAIN
    fetch(plain, directory)
    assert (directory / "set/plain.csv").read_bytes() == PLAIN
    assert files.asked[-1] == (SOURCE, None)


@pytest.mark.parametrize("content", [PLAIN[:-1] + b"x", PLAIN + b"x"])
def test_wrong_content_leaves_nothing_behind(
    files: Files, directory: Path, plain: Entry, content: bytes
) -> None:
    files.content[SOURCE] = content
    with pytest.raises(WrongContent):
        fetch(plain, directory)
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [gzip.compress(PACKED + b"x"), gzip.compress(PACKED)[:-9], b"no gzip at all"],
    ids=["longer", "cut off", "no gzip"],
)
def test_wrong_content_of_a_packed_file_leaves_nothing_behind(
    files: Files, directory: Path, packed: Entry, content: bytes
) -> None:
    files.content["/mirror/set/packed.csv.gz"] = content
    with pytest.raises(WrongContent, match="nothing was stored"):
        fetch(packed, directory, f"{files.url}/mirror")
    assert list(directory.iterdir()) == []


def test_an_endless_body_is_left_at_the_size_expected(
    files: Files, directory: Path, plain: Entry
) -> None:
    files.misbehave(SOURCE, endless)
    with pytest.raises(WrongContent, match=f"more than the {len(PLAIN)} bytes"):
        fetch(plain, directory)
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize(("status", "advice"), [(404, "mirror"), (410, "mirror"), (503, "later")])
def test_an_error_of_the_server_is_told_and_not_asked_again(
    files: Files, directory: Path, plain: Entry, status: int, advice: str
) -> None:
    files.misbehave(SOURCE, refusing(status))
    with pytest.raises(DataError, match=rf"{status}.*{advice}"):
        fetch(plain, directory)
    assert len(files.asked) == 1
    assert list(directory.iterdir()) == []


def test_a_dripping_server_is_given_up_and_what_came_is_kept(
    files: Files, directory: Path, plain: Entry
) -> None:
    files.misbehave(SOURCE, dripping)
    ticks = itertools.count(step=15.0)
    with pytest.raises(DataError, match="too slow"):
        fetch(plain, directory, limits=Limits(clock=lambda: next(ticks)))
    fetch(plain, directory)
    assert files.asked[1][1] is not None
    assert (directory / "set/plain.csv").read_bytes() == PLAIN


def test_a_silent_server_is_given_up(files: Files, directory: Path, plain: Entry) -> None:
    files.misbehave(SOURCE, silent)
    with pytest.raises(BrokenTransfer, match=r"timed out|Timeout"):
        fetch(plain, directory, limits=Limits(silent_s=0.05, attempts=1))


def test_a_host_without_a_server_is_unreachable(directory: Path, plain: Entry) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        mirror = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(SourceUnreachable, match="no connection"):
            fetch(plain, directory, mirror)
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize("mirror", ["ftp://127.0.0.1", "nonsense", "http://[", ""])
def test_a_mirror_that_is_no_address_is_told(directory: Path, plain: Entry, mirror: str) -> None:
    with pytest.raises(DataError, match=r"plain\.csv"):
        fetch(plain, directory, mirror)


def test_a_directory_that_cannot_be_written_is_told(tmp_path: Path, plain: Entry) -> None:
    taken = tmp_path / "file"
    taken.touch()
    with pytest.raises(DataError, match="cannot write in"):
        fetch(plain, taken / "data")
