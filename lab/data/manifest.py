"""The manifest: every file that code of this project reads, its public source and its checksum."""

from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

import msgspec

from lab.data.errors import DataError

MANIFEST = Path(__file__).with_name("manifest.toml")
RAW_HOST = "https://raw.githubusercontent.com"


class DataFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One file below FAIRWATT_DATA; checksum and size are of its content, see `content`."""

    path: str
    sha256: str
    size_bytes: int
    source: str | None = None
    recipe: str | None = None
    parts: tuple[str, ...] = ()
    repository: str | None = None
    """Where it is not the dataset's, as for `revision`."""
    revision: str | None = None

    def sources(self) -> tuple[str, ...]:
        return self.parts if self.source is None else (self.source,)

    def __post_init__(self) -> None:
        if (self.source is None) != bool(self.recipe and self.parts):
            raise ValueError(f"{self.path}: give either source, or recipe and parts")


class Dataset(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Files of one public repository under one licence."""

    name: str
    repository: str
    revision: str
    licence: str
    notice: str
    files: tuple[DataFile, ...]

    def origin(self, file: DataFile) -> tuple[str, str]:
        """Repository and revision of a file."""
        return file.repository or self.repository, file.revision or self.revision

    def urls(self, file: DataFile) -> tuple[str, ...]:
        repository, revision = self.origin(file)
        return tuple(
            f"{RAW_HOST}/{repository}/{revision}/{quote(source)}" for source in file.sources()
        )


class Entry(msgspec.Struct, frozen=True):
    dataset: Dataset
    file: DataFile


class _Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    datasets: tuple[Dataset, ...]


def load_manifest(path: Path = MANIFEST) -> list[Entry]:
    document = msgspec.toml.decode(path.read_bytes(), type=_Document)
    return [Entry(dataset, file) for dataset in document.datasets for file in dataset.files]


def select(entries: Iterable[Entry], names: Iterable[str]) -> list[Entry]:
    """The files of the datasets, folders or paths named; all of them where none is."""
    everything = list(entries)
    if not (wanted := list(names)):
        return everything
    for name in wanted:
        if not any(_is_named(entry, name) for entry in everything):
            known = ", ".join(dict.fromkeys(entry.dataset.name for entry in everything))
            raise DataError(f"{name}: no such dataset, folder or file; datasets are {known}")
    return [entry for entry in everything if any(_is_named(entry, name) for name in wanted)]


def _is_named(entry: Entry, name: str) -> bool:
    path, plain = entry.file.path, name.rstrip("/")
    return plain in {entry.dataset.name, path} or path.startswith(f"{plain}/")
