"""A server, an empty FAIRWATT_DATA and a manifest of three files."""

import gzip
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from lab.data import manifest
from lab.data.manifest import DataFile, Dataset, Entry
from tests.lab.data.server import Files, serving

PLAIN = b"".join(b"%d,plain\n" % number for number in range(2_000))
PACKED = b"".join(b"%d,packed\n" % number for number in range(2_000))


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> Iterator[Files]:
    with serving() as served:
        monkeypatch.setattr(manifest, "RAW_HOST", served.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        served.content = {
            "/owner/name/r1/in/plain.csv": PLAIN,
            "/owner/name/r1/in/packed.csv": PACKED,
            "/mirror/set/plain.csv": PLAIN,
            "/mirror/set/packed.csv.gz": gzip.compress(PACKED, 1),
        }
        yield served


@pytest.fixture
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "data"
    monkeypatch.setenv("FAIRWATT_DATA", str(found))
    return found


@pytest.fixture
def plain() -> Entry:
    return entry_of("set/plain.csv", PLAIN, source="in/plain.csv")


@pytest.fixture
def packed() -> Entry:
    return entry_of("set/packed.csv.gz", PACKED, source="in/packed.csv")


def entry_of(
    path: str,
    content: bytes,
    *,
    source: str | None = None,
    recipe: str | None = None,
    parts: tuple[str, ...] = (),
) -> Entry:
    file = DataFile(
        path=path,
        sha256=hashlib.sha256(content).hexdigest(),
        size_bytes=len(content),
        source=source,
        recipe=recipe,
        parts=parts,
    )
    dataset = Dataset(
        name="set",
        repository="owner/name",
        revision="r1",
        licence="MIT",
        notice="made for tests",
        files=(file,),
    )
    return Entry(dataset, file)


def left_in(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}
