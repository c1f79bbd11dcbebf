"""What is stored: handed out whole or in part, and deleted when nobody needs it."""

from collections.abc import Collection, Iterator

from django.db import transaction
from django.db.models import F

from storage.backends import backend
from storage.models import Blob
from tenancy import audit
from tenancy.callers import Caller
from tenancy.models import Tenant


def blob_read(blob: Blob, start: int, length: int) -> Iterator[bytes]:
    return backend().read(blob.key, start, length)


def blob_delete(caller: Caller, blob: Blob) -> None:
    """The row goes first: bytes without a row are only waste, a row without bytes is a lie."""
    with transaction.atomic():
        said = {"digest": blob.digest, "size": blob.size}
        audit.record(caller, "blob.delete", blob, said, tenant_id=blob.tenant_id)
        _delete_rows([blob])
    backend().delete([blob.key])


def blobs_delete(ids: Collection[int]) -> int:
    """For the sweep, which has found that nobody refers to them."""
    with transaction.atomic():
        rows = list(Blob.objects.select_for_update().filter(pk__in=ids).order_by("pk"))
        _delete_rows(rows)
    backend().delete([blob.key for blob in rows])
    return len(rows)


def _delete_rows(rows: Collection[Blob]) -> None:
    for blob in rows:
        Blob.objects.filter(pk=blob.pk).delete()
        Tenant.objects.filter(pk=blob.tenant_id).update(
            storage_used_bytes=F("storage_used_bytes") - blob.size
        )
