"""Archives that attempts need: who needs which, how far they are, why one does not come."""

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from agent.files.archive_cache import ArchiveCache, ArchivePart
from agent.wire import Archive, AttemptRef, DesiredAttempt, Fetched, Fetching


@dataclass(slots=True)
class Download:
    """Fetched once however many need it; `active` while the event loop is at it."""

    name: str
    archive: Archive
    part: ArchivePart
    refs: set[AttemptRef] = field(default_factory=set)
    active: bool = False
    fault: str = ""  # the service will not give it
    node_fault: str = ""  # it may come elsewhere

    @property
    def wanted(self) -> bool:
        return bool(self.refs)

    @property
    def progress(self) -> Fetching:
        return Fetching(Fetched.ARCHIVE, self.part.size, self.archive.size)

    def __str__(self) -> str:
        done, size = self.part.size >> 10, self.archive.size >> 10
        return f"fetching its working directory: {done} of {size} KiB"


@dataclass(frozen=True, slots=True)
class ArchiveDownloads:
    """Belongs to the thread of processes and files; the event loop fetches what it is given."""

    cache: ArchiveCache
    needed: dict[str, Download] = field(default_factory=dict)

    def need(self, attempt: DesiredAttempt, archive: Archive) -> Download:
        name = self.cache.name(attempt.tenant_id, archive)
        if name not in self.needed:
            self.needed[name] = Download(name, archive, self.cache.part(name, archive))
        download = self.needed[name]
        download.refs.add(attempt.ref)
        return download

    def file(self, download: Download) -> Path | None:
        return self.cache.get(download.name, download.archive)

    def keep_only(self, refs: Collection[AttemptRef]) -> None:
        """What no other needs is broken off; the bytes stay for the next who asks."""
        before = len(self.needed)
        for download in list(self.needed.values()):
            download.refs.intersection_update(refs)
            if not download.wanted and not download.active:
                del self.needed[download.name]
        if len(self.needed) < before:
            self.cache.prune(self.needed)

    def to_begin(self) -> list[Download]:
        found = [each for each in self.needed.values() if self._missing(each)]
        for download in found:
            download.active = True
        return found

    def ended(self, download: Download, fault: str, node_fault: str) -> None:
        download.active = False
        download.fault, download.node_fault = fault, node_fault

    def _missing(self, download: Download) -> bool:
        stuck = download.active or download.fault or download.node_fault
        return download.wanted and not stuck and self.file(download) is None
