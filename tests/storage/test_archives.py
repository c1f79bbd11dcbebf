"""Archives that would harm the node that unpacks them are refused, and say why."""

import gzip
import io
import stat
import struct
import tarfile
import zipfile
from pathlib import Path

import pytest

from agent.wire import ArchiveFormat
from storage import archives
from storage.archives import ArchiveRefused, check_archive
from tests.storage.packing import file, special, tar_gz, zipped

MOST = 10 * 2**20


def check(tmp_path: Path, data: bytes, kind: ArchiveFormat = ArchiveFormat.TAR_GZ) -> None:
    path = tmp_path / "archive"
    path.write_bytes(data)
    check_archive(path, kind, most_bytes=MOST)


def refusal(tmp_path: Path, data: bytes, kind: ArchiveFormat = ArchiveFormat.TAR_GZ) -> str:
    with pytest.raises(ArchiveRefused) as refused:
        check(tmp_path, data, kind)
    return refused.value.code


def test_a_folder_with_links_inside_is_taken(tmp_path: Path) -> None:
    check(
        tmp_path,
        tar_gz(
            special("src", tarfile.DIRTYPE),
            file("src/train.py"),
            file("./data/" + "long-name/" * 30 + "x"),
            special("latest", tarfile.SYMTYPE, "src/train.py"),
            special("src/up", tarfile.SYMTYPE, "../data"),
            special("copy", tarfile.LNKTYPE, "src/train.py"),
        ),
    )
    check(tmp_path, zipped(lambda z: z.writestr("src/train.py", "1")), ArchiveFormat.ZIP)


BAD = {
    "up": (file("../evil"), "path_leaves"),
    "up_inside": (file("a/../../evil"), "path_leaves"),
    "absolute": (file("/etc/cron.d/evil"), "absolute_path"),
    "backslash": (file("a\\..\\evil"), "bad_member_name"),
    "long": (file("x" * 1025), "bad_member_name"),
    "link_up": (special("l", tarfile.SYMTYPE, "../.."), "link_leaves"),
    "link_absolute": (special("l", tarfile.SYMTYPE, "/etc/passwd"), "link_leaves"),
    "link_turns": (special("l", tarfile.SYMTYPE, "m/../x"), "link_leaves"),
    "hard_link_out": (special("l", tarfile.LNKTYPE, "../../etc/shadow"), "link_leaves"),
    "device": (special("null", tarfile.CHRTYPE), "special_file"),
    "disk": (special("sda", tarfile.BLKTYPE), "special_file"),
    "fifo": (special("pipe", tarfile.FIFOTYPE), "special_file"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_member_that_leaves_is_refused(tmp_path: Path, name: str) -> None:
    member, code = BAD[name]
    assert refusal(tmp_path, tar_gz(file("good"), member)) == code


def test_nothing_goes_through_a_link(tmp_path: Path) -> None:
    here = special("l", tarfile.SYMTYPE, ".")
    assert refusal(tmp_path, tar_gz(here, file("l/x"))) == "path_through_link"
    assert refusal(tmp_path, tar_gz(here, file("l"))) == "path_through_link"
    assert refusal(tmp_path, tar_gz(file("d/x"), special("d", tarfile.SYMTYPE, "."))) == (
        "path_through_link"
    )


def test_a_bomb_is_refused_before_it_is_read(tmp_path: Path) -> None:
    assert refusal(tmp_path, tar_gz(file("zeros", bytes(MOST + 1)))) == "unpacks_too_large"
    header = tarfile.TarInfo("huge")
    header.size = 2**40
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        announced = gzip.compress(header.tobuf(form) + bytes(1024))
        assert refusal(tmp_path, announced) == "unpacks_too_large"


def test_a_high_ratio_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "SMALL_BYTES", 2**20)
    assert refusal(tmp_path, tar_gz(file("zeros", bytes(5 * 2**20)))) == "unpacks_too_large"


def test_a_header_that_fills_memory_is_refused(tmp_path: Path) -> None:
    header = tarfile.TarInfo("pax")
    header.type, header.size = tarfile.XHDTYPE, 5 * 2**20
    data = gzip.compress(header.tobuf() + bytes(5 * 2**20))
    assert refusal(tmp_path, data) == "archive_broken"


def test_members_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_MEMBERS", 3)
    many = [file(f"f{number}", b"") for number in range(4)]
    assert refusal(tmp_path, tar_gz(*many)) == "too_many_members"


@pytest.mark.parametrize(
    "data",
    [b"", b"not gzip", gzip.compress(b"x" * 600), b"\x1f\x8b"],
    ids=["empty", "other", "no tar", "cut off"],
)
def test_what_is_no_archive_is_refused(tmp_path: Path, data: bytes) -> None:
    if data == b"":
        data = b"\0"
    assert refusal(tmp_path, data) == "archive_broken"
    assert refusal(tmp_path, data, ArchiveFormat.ZIP) == "archive_broken"


def test_a_cut_off_archive_is_refused(tmp_path: Path) -> None:
    whole = tar_gz(file("random", bytes(range(256)) * 400))
    assert refusal(tmp_path, whole[: len(whole) // 2]) == "archive_broken"


def _zip_with_mode(mode: int) -> bytes:
    info = zipfile.ZipInfo("member")
    info.external_attr = mode << 16
    return zipped(lambda archive: archive.writestr(info, "target"))


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (zipped(lambda z: z.writestr("../evil", "x")), "path_leaves"),
        (zipped(lambda z: z.writestr("/evil", "x")), "absolute_path"),
        (zipped(lambda z: z.writestr("zeros", bytes(MOST + 1))), "unpacks_too_large"),
        (_zip_with_mode(stat.S_IFLNK | 0o777), "special_file"),
        (_zip_with_mode(stat.S_IFCHR | 0o600), "special_file"),
    ],
    ids=["up", "absolute", "bomb", "link", "device"],
)
def test_zips_are_held_to_the_same(tmp_path: Path, data: bytes, code: str) -> None:
    assert refusal(tmp_path, data, ArchiveFormat.ZIP) == code


def test_a_zip_cannot_announce_more_members_than_it_may_have(tmp_path: Path) -> None:
    data = bytearray(zipped(lambda z: z.writestr("x", "y")))
    end = data.rfind(b"PK\x05\x06")
    struct.pack_into("<L", data, end + 12, 2**31)
    assert refusal(tmp_path, bytes(data), ArchiveFormat.ZIP) == "too_many_members"
    locator = bytes(data[:end]) + b"PK\x06\x07" + bytes(16) + bytes(data[end:])
    assert refusal(tmp_path, locator, ArchiveFormat.ZIP) == "too_many_members"


def test_tarfile_itself_agrees(tmp_path: Path) -> None:
    """What is taken here the standard library's own filter takes too."""
    data = tar_gz(file("a/b"), special("a/l", tarfile.SYMTYPE, "../a/b"))
    check(tmp_path, data)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        archive.extractall(tmp_path / "out", filter="data")
    assert (tmp_path / "out" / "a" / "l").read_bytes() == b"print(1)\n"
