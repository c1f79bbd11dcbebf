"""Answers that carry a blob's bytes: all of them, or the range that a client goes on with."""

import re
from collections.abc import Iterator
from threading import BoundedSemaphore

from django.http import HttpRequest, StreamingHttpResponse

from rest.problems import NotFound, Problem
from storage.backends.base import ObjectMissing
from storage.blobs import blob_read
from storage.models import Blob

OCTETS = "application/octet-stream"
# Each holds one of a process's few threads for as long as its client reads.
_DOWNLOADS = BoundedSemaphore(2)
_RANGE = re.compile(r"bytes=(\d{1,18})?-(\d{1,18})?")


def blob_response(request: HttpRequest, blob: Blob, name: str) -> StreamingHttpResponse:
    start, end = span(request.headers.get("Range", ""), blob.size)
    if not _DOWNLOADS.acquire(blocking=False):
        detail = "Too many downloads at once; come back in a moment."
        raise Problem(detail, code="busy", status=503, headers={"Retry-After": "1"})
    chunks = _HeldFile(blob_read(blob, start, end - start))
    try:
        chunks.begin()
    except ObjectMissing:
        raise NotFound("The bytes are gone; send them again.", code="bytes_gone") from None
    response = StreamingHttpResponse(chunks, content_type=OCTETS)
    response["Content-Length"] = str(end - start)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["ETag"] = f'"{blob.digest}"'
    response["Accept-Ranges"] = "bytes"
    if (start, end) != (0, blob.size):
        response.status_code = 206
        response["Content-Range"] = f"bytes {start}-{end - 1}/{blob.size}"
    return response


def span(header: str, size: int) -> tuple[int, int]:
    """First byte and the one after the last; what is no single range is answered whole."""
    found = _RANGE.fullmatch(header.strip())
    if found is None or (found[1] is None and found[2] is None):
        return 0, size
    if found[1] is None:
        start, end = max(0, size - int(found[2])), size
    else:
        start = int(found[1])
        end = size if found[2] is None else min(int(found[2]) + 1, size)
    if start >= size or start >= end:
        detail = f"There are {size} bytes."
        headers = {"Content-Range": f"bytes */{size}"}
        raise Problem(detail, code="range_not_satisfiable", status=416, headers=headers)
    return start, end


class _HeldFile:
    """The chunks, and the place among the downloads that is given back when they end."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._open = chunks, True
        self._first: bytes | None = None

    def begin(self) -> None:
        """Before anything is answered: whether there are bytes at all."""
        self._first = next(self, b"")

    def __iter__(self) -> "_HeldFile":
        return self

    def __next__(self) -> bytes:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        try:
            return next(self._chunks)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Called by the server also when the client has gone."""
        if self._open:
            self._open = False
            _DOWNLOADS.release()
