"""The node's archives: only whole and checked bytes have a name, and the least used go first."""

import os
from pathlib import Path

import pytest

from agent.files.archive_cache import ArchiveCache, ArchivePart, WrongBytesError
from agent.files.downloads import ArchiveDownloads
from agent.remember.disk import DiskSpace
from agent.wire import Archive
from tests.agent.fakes import attempt
from tests.storage.packing import digest

BYTES = b"0123456789"
WANTED = Archive(digest(BYTES), len(BYTES))


@pytest.fixture
def cache(tmp_path: Path) -> ArchiveCache:
    return ArchiveCache(tmp_path, 25, DiskSpace(tmp_path, least_bytes=0))


def fetched(cache: ArchiveCache, data: bytes, tenant_id: int = 1) -> str:
    archive = Archive(digest(data), len(data))
    name = cache.name(tenant_id, archive)
    part = opened(cache, name, archive)
    part.write(data)
    part.keep()
    part.close()
    return name


def opened(cache: ArchiveCache, name: str, archive: Archive) -> ArchivePart:
    part = cache.part(name, archive)
    part.open()
    return part


def test_a_download_goes_on_where_it_was_and_is_whole_only_then(cache: ArchiveCache) -> None:
    name = cache.name(1, WANTED)
    first = opened(cache, name, WANTED)
    first.write(BYTES[:4])
    first.close()
    assert cache.get(name, WANTED) is None
    part = cache.part(name, WANTED)
    assert part.open() == 4
    part.write(BYTES[4:])
    assert part.whole
    part.keep()
    path = cache.get(name, WANTED)
    assert path is not None
    assert path.read_bytes() == BYTES
    assert [each.name for each in cache.directory.iterdir()] == [name]


def test_other_bytes_never_get_the_name(cache: ArchiveCache) -> None:
    name = cache.name(1, WANTED)
    part = opened(cache, name, WANTED)
    part.write(b"9876543210")
    with pytest.raises(WrongBytesError, match="not those of"):
        part.keep()
    part.close()
    assert list(cache.directory.iterdir()) == []


def test_more_bytes_than_announced_are_not_written(cache: ArchiveCache) -> None:
    part = opened(cache, cache.name(1, WANTED), WANTED)
    part.write(BYTES)
    with pytest.raises(WrongBytesError, match="more than its 10 bytes"):
        part.write(b"x")
    part.close()
    assert list(cache.directory.iterdir()) == []


def test_a_part_of_something_longer_is_begun_anew(cache: ArchiveCache) -> None:
    name = cache.name(1, WANTED)
    (cache.directory / f"{name}.part").write_bytes(bytes(100))
    assert cache.part(name, WANTED).open() == 0


def test_tenants_share_no_archive(cache: ArchiveCache) -> None:
    fetched(cache, BYTES, tenant_id=1)
    assert cache.get(cache.name(2, WANTED), WANTED) is None


def test_the_least_used_go_first_and_those_in_use_stay(cache: ArchiveCache) -> None:
    names = [fetched(cache, bytes([number]) * 10) for number in range(4)]
    for age, name in enumerate(names):
        os.utime(cache.directory / name, (1000 - age, 1000 - age))
    cache.prune(in_use={names[3]})
    assert {path.name for path in cache.directory.iterdir()} == {names[0], names[1], names[3]}


def test_room_is_made_for_what_is_needed_before_it_is_refused(cache: ArchiveCache) -> None:
    name = fetched(cache, BYTES)
    huge = Archive(digest(b"?"), 2**40)
    assert "disk is full" in cache.shortage(huge, in_use=())
    assert not (cache.directory / name).exists()
    assert cache.shortage(WANTED, in_use=()) == ""


def test_two_attempts_need_one_download_and_the_last_of_them_ends_it(cache: ArchiveCache) -> None:
    downloads = ArchiveDownloads(cache)
    one, other = attempt(7, tenant_id=1), attempt(8, 80, tenant_id=1)
    download = downloads.need(one, WANTED)
    assert downloads.need(other, WANTED) is download
    assert downloads.to_begin() == [download]
    assert downloads.to_begin() == []
    downloads.keep_only({other.ref})
    assert download.wanted
    downloads.keep_only(set())
    assert not download.wanted
    downloads.ended(download, "", "")
    downloads.keep_only(set())
    assert downloads.needed == {}


def test_what_failed_is_told_and_tried_anew_by_who_asks_later(cache: ArchiveCache) -> None:
    downloads = ArchiveDownloads(cache)
    one = attempt(7, tenant_id=1)
    download = downloads.need(one, WANTED)
    downloads.to_begin()
    downloads.ended(download, "404 bytes_gone", "")
    assert downloads.need(one, WANTED).fault == "404 bytes_gone"
    downloads.keep_only(set())
    assert downloads.need(one, WANTED).fault == ""
    assert len(downloads.to_begin()) == 1
