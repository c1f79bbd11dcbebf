"""Bytes come in, in parts that may be sent again; the whole is checked before it is a blob.

The tenant's quota is taken when an upload begins, so that no number of uploads together exceeds it.
"""

import hashlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models import F

from agent.wire import ArchiveFormat
from rest.problems import Conflict, Contradiction, Problem
from storage.archives import ArchiveRefused, check_archive
from storage.backends import backend
from storage.backends.base import ObjectMissing
from storage.models import Blob, Upload
from tenancy.models import Tenant

MAX_PART_BYTES = 8 * 2**20


@dataclass(frozen=True, slots=True)
class Wanted:
    """What shall be stored, and for whom."""

    tenant_id: int
    digest: str
    size: int
    format: str = ""


def upload_begin(wanted: Wanted, *, now: datetime) -> Upload | Blob:
    """Where to go on: the blob if it is stored already, or the upload that is under way."""
    _refuse_large(wanted)
    known = Blob.objects.filter(tenant=wanted.tenant_id, digest=wanted.digest).first()
    if known is not None:
        _check_as(known, wanted)
        Blob.objects.filter(pk=known.pk).update(used_at=now)
        return known
    under_way = Upload.objects.filter(tenant=wanted.tenant_id, digest=wanted.digest).first()
    if under_way is not None:
        _refuse_another(under_way, wanted)
        return under_way
    _use(wanted.tenant_id, wanted.size)
    return Upload.objects.create(
        tenant_id=wanted.tenant_id,
        digest=wanted.digest,
        size=wanted.size,
        format=wanted.format,
        created_at=now,
        expires_at=_expiry(now),
    )


def part_take(upload: Upload, offset: int, data: bytes, *, now: datetime) -> Upload | Blob:
    """The next part; with the last one the upload becomes a blob, or is refused and forgotten."""
    if offset != upload.received:
        raise _wrong_offset(upload.received)
    if offset + len(data) > upload.size:
        detail = f"The upload has {upload.size} bytes; this part would reach beyond them."
        raise Conflict.at("?offset", "beyond_size", detail)
    if data:
        backend().put(upload.part_key(offset), data)
        _append(upload, offset, len(data), now)
    return _finish(upload, now) if upload.received == upload.size else upload


def upload_forget(upload: Upload) -> None:
    """Nobody goes on with it: the quota is free again, and so is the place."""
    with transaction.atomic():
        gone, _ = Upload.objects.filter(pk=upload.pk).delete()
        if gone:
            _use(upload.tenant_id, -upload.size)
    backend().delete(upload.keys)


def _append(upload: Upload, offset: int, size: int, now: datetime) -> None:
    """Of two who send the same part at once, one is told where the other has come to."""
    parts = [*upload.parts, offset]
    changed = Upload.objects.filter(pk=upload.pk, received=offset).update(
        received=offset + size, parts=parts, expires_at=_expiry(now)
    )
    if not changed:
        found = Upload.objects.filter(pk=upload.pk).first()
        raise _wrong_offset(found.received if found else 0)
    upload.received, upload.parts = offset + size, parts


def _finish(upload: Upload, now: datetime) -> Blob:
    try:
        _check_and_keep(upload)
    except Problem:
        upload_forget(upload)
        raise
    with transaction.atomic():
        blob, made = Blob.objects.get_or_create(
            tenant_id=upload.tenant_id,
            digest=upload.digest,
            defaults={
                "size": upload.size,
                "format": upload.format,
                "created_at": now,
                "used_at": now,
            },
        )
        gone, _ = Upload.objects.filter(pk=upload.pk).delete()
        if gone and not made:
            _use(upload.tenant_id, -upload.size)
    backend().delete(upload.keys)
    return blob


def _check_and_keep(upload: Upload) -> None:
    with tempfile.NamedTemporaryFile(prefix="fairwatt-upload-") as file:
        path, digest = Path(file.name), hashlib.sha256()
        for chunk in _received(upload):
            digest.update(chunk)
            file.write(chunk)
        file.flush()
        if digest.hexdigest() != upload.digest:
            detail = "The bytes that came have another SHA-256 than was said; send them again."
            raise Contradiction.at("/digest", "digest_mismatch", detail)
        _check_format(path, upload.format)
        backend().put_file(_blob_key(upload), path)


def _received(upload: Upload) -> Iterator[bytes]:
    ends = [*upload.parts, upload.size][1:]
    for begin, end in zip(upload.parts, ends, strict=True):
        try:
            yield from backend().read(upload.part_key(begin), 0, end - begin)
        except ObjectMissing:
            detail = "A part of it is gone; send it again from the start."
            raise Conflict.at("?offset", "part_gone", detail) from None


def _check_as(blob: Blob, wanted: Wanted) -> None:
    """A blob that came as something else is looked through once it shall be an archive."""
    if not wanted.format or blob.format == wanted.format:
        return
    with tempfile.NamedTemporaryFile(prefix="fairwatt-blob-") as file:
        for chunk in backend().read(blob.key, 0, blob.size):
            file.write(chunk)
        file.flush()
        _check_format(Path(file.name), wanted.format)
    Blob.objects.filter(pk=blob.pk).update(format=wanted.format)
    blob.format = wanted.format


def _check_format(path: Path, kind: str) -> None:
    if not kind:
        return
    try:
        check_archive(path, ArchiveFormat(kind), most_bytes=settings.UNPACKED_MAX_BYTES)
    except ArchiveRefused as refused:
        raise Contradiction.at("/digest", refused.code, refused.detail) from None


def _blob_key(upload: Upload) -> str:
    return Blob(tenant_id=upload.tenant_id, digest=upload.digest).key


def _refuse_large(wanted: Wanted) -> None:
    most = settings.ARCHIVE_MAX_BYTES if wanted.format else settings.ARTIFACT_MAX_BYTES
    if wanted.size > most:
        what = "An archive" if wanted.format else "An artifact"
        raise Contradiction.at("/size", "too_large", f"{what} has at most {most} bytes here.")


def _refuse_another(upload: Upload, wanted: Wanted) -> None:
    if upload.size != wanted.size:
        detail = f"The same digest is being uploaded with a size of {upload.size} bytes."
        raise Conflict.at("/size", "size_differs", detail)
    if wanted.format and upload.format != wanted.format:
        Upload.objects.filter(pk=upload.pk).update(format=wanted.format)
        upload.format = wanted.format


def _wrong_offset(received: int) -> Conflict:
    detail = f"Go on at byte {received}."
    problem: Conflict = Conflict.at("?offset", "wrong_offset", detail)
    problem.extensions["offset"] = received
    return problem


def _use(tenant_id: int, size: int) -> None:
    """The database refuses what exceeds the quota: see Tenant's constraints."""
    Tenant.objects.filter(pk=tenant_id).update(storage_used_bytes=F("storage_used_bytes") + size)


def _expiry(now: datetime) -> datetime:
    return now + timedelta(hours=settings.UPLOADS_KEEP_HOURS)


def uploads_expire(*, now: datetime) -> int:
    stale = list(Upload.objects.filter(expires_at__lt=now).order_by("pk")[:100])
    for upload in stale:
        upload_forget(upload)
    return len(stale)
