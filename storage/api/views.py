"""Resources of storage: shape and rights here, decisions in the services."""

from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from rest.filters import IntegerFilter, TextFilter
from rest.problems import Invalid, Problem
from rest.schema import AutoSchema
from rest.views import (
    Answer,
    DestroyMixin,
    ListMixin,
    RetrieveMixin,
    crud_rights,
    respond,
)
from storage import blobs, selectors, uploads
from storage.api import structs
from storage.download import OCTETS
from storage.models import Blob, Upload
from storage.uploads import MAX_PART_BYTES, Wanted
from tenancy.api.views import tenant_for


class PartSchema(AutoSchema):
    """Parts are plain bytes."""

    def _get_request_body(self, direction: Any = "request") -> dict[str, Any] | None:
        if self.action != "partial_update":
            return super()._get_request_body(direction)
        schema = {"type": "string", "format": "binary"}
        part = {"schema": schema, "example": "the bytes from `offset` on"}
        return {"content": {OCTETS: part}, "required": True}


class UploadViewSet(ListMixin, RetrieveMixin):
    """Archives on their way in. Say digest and size, then send parts until `stored` is true.

    What the tenant has stored before is `stored` at once. After a broken connection, ask for the
    upload's `offset` and go on there.
    """

    resource = "uploads"
    rights = crud_rights("uploads")
    output = structs.UploadOut
    inputs = {"create": structs.UploadCreate}
    filters = {"tenant_id": IntegerFilter(), "digest": TextFilter()}
    query_parameters = {
        "partial_update": {"offset": IntegerFilter(help_text="Where this part begins.")}
    }
    schema = PartSchema()

    def rows(self) -> QuerySet[Upload]:
        return selectors.uploads(self.caller)

    def shown(self, row: Upload | Blob) -> structs.UploadOut:
        stored = isinstance(row, Blob)
        return structs.UploadOut(
            id=None if stored else row.pk,
            tenant_id=row.tenant_id,
            digest=row.digest,
            size=row.size,
            format=row.format,
            offset=row.size if isinstance(row, Blob) else row.received,
            stored=stored,
            part_bytes=MAX_PART_BYTES,
            expires_at=None if isinstance(row, Blob) else row.expires_at,
        )

    def create(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Begin an upload, or find the one that is under way."""
        sent: structs.UploadCreate = self.input()

        def effect() -> Answer:
            tenant_id = tenant_for(self.caller, sent.tenant_id or None)
            wanted = Wanted(tenant_id, sent.digest, sent.size, sent.format)
            begun = uploads.upload_begin(wanted, now=timezone.now())
            base = request.path.rstrip("/")
            where = f"{base}/{begun.pk}/" if isinstance(begun, Upload) else f"{base}/"
            return Answer(self.shown(begun), 201, {"Location": where})

        return self.write(effect)

    def partial_update(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Send the bytes from `offset` on, at most `part_bytes` of them."""
        row, asked, data = self.row(), self.query(), _octets(request)
        if "offset" not in asked:
            raise Invalid.at("?offset", "missing", "Say at which byte this part begins.")
        taken = uploads.part_take(row, asked["offset"], data, now=timezone.now())
        return respond(Answer(self.shown(taken)))

    def destroy(self, request: Request, **kwargs: Any) -> HttpResponse:
        """Give the upload up; what it took of the quota is free again."""
        uploads.upload_forget(self.row())
        return respond(Answer(status=204))


class BlobViewSet(ListMixin, RetrieveMixin, DestroyMixin):
    """What a tenant has stored, once each. Those that jobs no longer use are deleted in time."""

    resource = "blobs"
    rights = crud_rights("blobs")
    output = structs.BlobOut
    filters = {"tenant_id": IntegerFilter(), "digest": TextFilter()}
    ordering_fields = ("id", "used_at")

    def rows(self) -> QuerySet[Blob]:
        return selectors.blobs(self.caller)

    def perform_destroy(self, row: Blob) -> None:
        blobs.blob_delete(self.caller, row)


def _octets(request: Request) -> bytes:
    """Read here and not by a parser: the body is bytes, whatever the client calls them."""
    sent = str(request.META.get("CONTENT_TYPE", "")).partition(";")[0].strip().lower()
    if sent not in (OCTETS, ""):
        detail = f"Send the part as {OCTETS}."
        raise Problem(detail, code="unsupported_media_type", status=415)
    data: bytes = request._request.body
    if len(data) > MAX_PART_BYTES:
        detail = f"A part has at most {MAX_PART_BYTES} bytes."
        raise Problem(detail, code="too_large", status=413)
    return data
