"""Reads of what attempts printed: a page of bytes as text, which never cuts a letter in two."""

import codecs
from dataclasses import dataclass

from django.db.models import F, QuerySet

from jobs.models import Job, Log, LogChunk
from tenancy.callers import Caller
from tenancy.selectors import visible


@dataclass(frozen=True, slots=True)
class Page:
    offset: int
    next_offset: int
    text: str


def logs(caller: Caller, job: Job) -> QuerySet[Log]:
    """The newest attempt first, its first node first, standard output first."""
    names = {"number": F("attempt__number"), "node_name": F("node__name")}
    rows = visible(Log.objects.filter(attempt__job=job, tenant=job.tenant_id), caller)
    return rows.annotate(**names).order_by("-attempt__number", "node_id", "rank", "-stream")


def page(log: Log, *, offset: int, limit: int) -> Page:
    offset = min(offset, log.size)
    data = _bytes(log, offset, min(offset + limit, log.size))
    at_end = log.closed and offset + len(data) >= log.size
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text = decoder.decode(data, final=at_end)
    cut = len(decoder.getstate()[0])
    if cut and not text:
        text, cut = data.decode("utf-8", "replace"), 0
    return Page(offset, offset + len(data) - cut, text)


def _bytes(log: Log, start: int, end: int) -> bytes:
    if start >= end:
        return b""
    rows = LogChunk.objects.filter(log=log)
    first = rows.filter(offset__lte=start).order_by("-offset").values_list("offset", flat=True)[:1]
    chunks = rows.filter(offset__gte=first[0], offset__lt=end).order_by("offset")
    pieces = [(chunk.offset, bytes(chunk.data)) for chunk in chunks]
    return b"".join(data for _, data in pieces)[start - pieces[0][0] : end - pieces[0][0]]
