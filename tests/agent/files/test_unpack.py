"""Hostile archives on the node: each is one clear refusal, and nothing lies outside the folder."""

import gzip
import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.files import unpack as unpacking
from agent.files.folders import FOLDER
from agent.files.unpack import BadArchiveError, unpack
from tests.storage.packing import Member, file, special, tar_gz, zipped

MOST = 2**20


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """Whatever is unpacked, what lies beside the folder stays as it was."""
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    yield tmp_path
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "victim"]
    assert victim.read_text() == "untouched"


@pytest.fixture
def folder(outside: Path) -> Path:
    made = outside / "folder"
    made.mkdir()
    return made


def take(folder: Path, data: bytes, kind: str = "tar.gz", most_bytes: int = MOST) -> None:
    descriptor = os.open(folder, FOLDER)
    try:
        unpack(io.BytesIO(data), kind, descriptor, most_bytes=most_bytes)
    finally:
        os.close(descriptor)


def refusal(folder: Path, data: bytes, kind: str = "tar.gz") -> str:
    with pytest.raises(BadArchiveError) as refused:
        take(folder, data, kind)
    return str(refused.value)


def test_files_folders_and_links_inside_are_made(folder: Path) -> None:
    script = file("src/run.sh")
    script[0].mode = 0o6777
    take(
        folder,
        tar_gz(
            special("empty", tarfile.DIRTYPE),
            script,
            file("./src/twice", b"first"),
            file("src/twice", b"second"),
            special("src/up", tarfile.SYMTYPE, "../empty"),
            special("same", tarfile.LNKTYPE, "src/twice"),
        ),
    )
    assert (folder / "src" / "twice").read_bytes() == b"second"
    assert (folder / "same").samefile(folder / "src" / "twice")
    assert (folder / "src" / "up").resolve() == folder / "empty"
    assert stat.S_IMODE((folder / "src" / "run.sh").stat().st_mode) == 0o755
    assert stat.S_IMODE((folder / "empty").stat().st_mode) == 0o700


def test_a_zip_is_unpacked_too(folder: Path) -> None:
    def fill(archive: zipfile.ZipFile) -> None:
        archive.mkdir("empty")
        archive.writestr("src/train.py", "print(1)")

    take(folder, zipped(fill), "zip")
    assert (folder / "src" / "train.py").read_text() == "print(1)"
    assert (folder / "empty").is_dir()


LINK_HERE = special("l", tarfile.SYMTYPE, ".")
HOSTILE: dict[str, tuple[tuple[Member, ...], str]] = {
    "up": ((file("../victim"),), "leaves the folder"),
    "up inside": ((file("a/../../victim"),), "leaves the folder"),
    "absolute": ((file("/etc/cron.d/evil"),), "absolute path"),
    "no name": ((file("."),), "has no name"),
    "name too long": ((file("x" * 300),), "File name too long"),
    "link up": ((special("l", tarfile.SYMTYPE, "../victim"),), "link out"),
    "link deep up": ((special("a/l", tarfile.SYMTYPE, "../../victim"),), "link out"),
    "link absolute": ((special("l", tarfile.SYMTYPE, "/etc/passwd"),), "link out"),
    "link turns": ((special("l", tarfile.SYMTYPE, "m/../../victim"),), "link out"),
    "through a link": ((LINK_HERE, file("l/x")), "cannot be made"),
    "over a folder": ((file("d/x"), file("d")), "cannot be made"),
    "hard link out": ((special("l", tarfile.LNKTYPE, "../victim"),), "leaves the folder"),
    "hard link absolute": ((special("l", tarfile.LNKTYPE, "/etc/shadow"),), "absolute path"),
    "hard link through": ((LINK_HERE, special("m", tarfile.LNKTYPE, "l/x")), "cannot be made"),
    "hard link to nothing": ((special("l", tarfile.LNKTYPE, "x"),), "cannot be made"),
    "character device": ((special("null", tarfile.CHRTYPE),), "neither file"),
    "block device": ((special("sda", tarfile.BLKTYPE),), "neither file"),
    "pipe": ((special("pipe", tarfile.FIFOTYPE),), "neither file"),
    "bomb": ((file("zeros", bytes(MOST + 1)),), "unpacks to more than"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_member_is_refused(folder: Path, name: str) -> None:
    members, why = HOSTILE[name]
    assert why in refusal(folder, tar_gz(*members))


def test_a_file_in_the_place_of_a_link_replaces_it_and_writes_nowhere_else(folder: Path) -> None:
    """The link leads inside; were it followed, `target` would have changed."""
    linked = special("l", tarfile.SYMTYPE, "target")
    take(folder, tar_gz(file("target", b"old"), linked, file("l", b"new")))
    assert (folder / "target").read_bytes() == b"old"
    assert (folder / "l").read_bytes() == b"new"


def test_a_link_that_is_already_there_is_not_followed(folder: Path, outside: Path) -> None:
    """Whoever put it there, and whenever: the kernel refuses."""
    (folder / "away").symlink_to(outside)
    assert "cannot be made" in refusal(folder, tar_gz(file("away/victim", b"evil")))


def test_an_announced_size_is_counted_before_anything_is_read(folder: Path) -> None:
    header = tarfile.TarInfo("huge")
    header.size = 2**40
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        announced = gzip.compress(header.tobuf(form) + bytes(1024))
        assert "unpacks to more" in refusal(folder, announced)
    assert list(folder.iterdir()) == []


def test_members_are_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacking, "MOST_MEMBERS", 3)
    many = [file(f"f{number}", b"") for number in range(4)]
    assert "more than 3 members" in refusal(folder, tar_gz(*many))


@pytest.mark.parametrize("kind", ["tar.gz", "zip"])
@pytest.mark.parametrize(
    "data",
    [b"", b"neither", gzip.compress(b"x" * 600, mtime=0)[:-9]],
    ids=["empty", "neither", "cut off"],
)
def test_what_is_no_archive_is_refused(folder: Path, data: bytes, kind: str) -> None:
    assert "cannot be read" in refusal(folder, data, kind)


def test_a_cut_off_archive_is_refused(folder: Path) -> None:
    whole = tar_gz(file("random", os.urandom(100_000)))
    assert "read" in refusal(folder, whole[: len(whole) // 2])


def _mode(mode: int) -> bytes:
    info = zipfile.ZipInfo("member")
    info.external_attr = mode << 16
    return zipped(lambda archive: archive.writestr(info, "../victim"))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (zipped(lambda archive: archive.writestr("../victim", "x")), "leaves the folder"),
        (zipped(lambda archive: archive.writestr("/evil", "x")), "absolute path"),
        (zipped(lambda archive: archive.writestr("zeros", bytes(MOST + 1))), "unpacks to more"),
        (_mode(stat.S_IFLNK | 0o777), "neither file"),
        (_mode(stat.S_IFCHR | 0o600), "neither file"),
    ],
    ids=["up", "absolute", "bomb", "link", "device"],
)
def test_zips_are_held_to_the_same(folder: Path, data: bytes, why: str) -> None:
    assert why in refusal(folder, data, "zip")


def test_a_full_disk_is_not_the_archives_fault(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(unpacking, "_copy", full)
    with pytest.raises(OSError, match="No space left"):
        take(folder, tar_gz(file("a")))
