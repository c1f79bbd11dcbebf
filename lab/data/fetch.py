"""Missing files into FAIRWATT_DATA; none has its name there before its checksum is right."""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

import httpx

from lab.data.content import check_content, is_packed, pack
from lab.data.download import DownloadOrder, Limits, OnBytes, client_with, download
from lab.data.errors import DataError, WrongContent
from lab.data.manifest import DataFile, Entry
from lab.data.recipes import RECIPES

PARTIAL = ".partial"
"""Folder below FAIRWATT_DATA, hence on the same file system, for what is not whole yet."""
MOST_PART_BYTES = 64 << 10
"""No part of a recipe is larger; the manifest has the size of the result only."""
GZIP_SLACK_BYTES = 64 << 10


@dataclass(frozen=True, slots=True)
class Fetcher:
    """From the public sources, or from a mirror that serves a directory like FAIRWATT_DATA."""

    directory: Path
    client: httpx.Client
    mirror: str | None = None
    limits: Limits = field(default_factory=Limits)

    def fetch(self, entry: Entry, on_bytes: OnBytes) -> None:
        partial = self.directory / PARTIAL
        try:
            partial.mkdir(parents=True, exist_ok=True)
            self._store(entry.file, self._whole(entry, on_bytes))
        except OSError as error:
            raise DataError(f"cannot write in {self.directory}: {error}") from error
        finally:
            with suppress(OSError):
                partial.rmdir()

    def _whole(self, entry: Entry, on_bytes: OnBytes) -> Path:
        """The file as it is to be stored, complete and checked, in the partial folder."""
        file = entry.file
        if self.mirror is not None:
            url = f"{self.mirror.rstrip('/')}/{quote(file.path)}"
            return self._checked(file, url, on_bytes, packed=is_packed(file.path))
        urls = entry.dataset.urls(file)
        if file.recipe is not None:
            return self._made(file, file.recipe, urls, on_bytes)
        plain = self._checked(file, urls[0], on_bytes, packed=False)
        return self._packed(plain) if is_packed(file.path) else plain

    def _checked(self, file: DataFile, url: str, on_bytes: OnBytes, *, packed: bool) -> Path:
        """What was resumed and is wrong may have changed between, so it is fetched once more."""
        part = self._part(url)
        if packed:
            wanted = DownloadOrder(url, file.size_bytes + GZIP_SLACK_BYTES)
        else:
            wanted = DownloadOrder(url, file.size_bytes, exact_bytes=file.size_bytes)
        for resumed in (part.exists(), False):
            download(self.client, wanted, part, self.limits, on_bytes)
            try:
                check_content(file, part, packed=packed)
            except WrongContent as error:
                part.unlink()
                if not resumed:
                    raise WrongContent(f"{error}, from {url}; nothing was stored") from error
            else:
                break
        return part

    def _made(self, file: DataFile, recipe: str, urls: Iterable[str], on_bytes: OnBytes) -> Path:
        sources: dict[str, bytes] = {}
        with TemporaryDirectory(dir=self.directory / PARTIAL) as folder:
            for name, url in zip(file.parts, urls, strict=True):
                part = Path(folder) / str(len(sources))
                wanted = DownloadOrder(url, MOST_PART_BYTES)
                download(self.client, wanted, part, self.limits, lambda _: None)
                sources[name] = part.read_bytes()
                on_bytes(file.size_bytes * len(sources) // len(file.parts))
        made = self._part(file.path)
        made.write_bytes(RECIPES[recipe](sources))
        try:
            check_content(file, made, packed=False)
        except WrongContent as error:
            made.unlink()
            raise WrongContent(f"{error}, made by recipe {recipe}; nothing was stored") from error
        return made

    def _packed(self, plain: Path) -> Path:
        target = plain.with_suffix(".gz")
        pack(plain, target)
        plain.unlink()
        return target

    def _store(self, file: DataFile, whole: Path) -> None:
        target = self.directory / file.path
        target.parent.mkdir(parents=True, exist_ok=True)
        whole.replace(target)

    def _part(self, url: str) -> Path:
        """A place per address: a mirror's bytes are never appended to those of the source."""
        return self.directory / PARTIAL / hashlib.sha256(url.encode()).hexdigest()[:16]


@contextmanager
def fetcher(directory: Path, mirror: str | None, limits: Limits) -> Iterator[Fetcher]:
    with client_with(limits) as client:
        yield Fetcher(directory, client, mirror, limits)
