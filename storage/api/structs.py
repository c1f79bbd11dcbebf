"""Shapes of uploads and blobs."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from agent.wire import ArchiveFormat
from agent.wire.bounds import MAX_BLOB_BYTES
from rest.structs import Id, Input, Instant, Output, matching
from storage.models import DIGEST
from storage.uploads import MAX_PART_BYTES
from tenancy.api.structs import TenantId

EXAMPLE = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
Digest = Annotated[
    str, matching(DIGEST, example=EXAMPLE, description="SHA-256, 64 hexadecimal digits.")
]
Size = Annotated[int, Meta(ge=1, le=MAX_BLOB_BYTES, examples=[48_213])]
Format = Annotated[
    ArchiveFormat,
    Meta(description="An archive is looked through before it is stored.", examples=["tar.gz"]),
]


class UploadCreate(Input, frozen=True):
    digest: Digest
    size: Size
    format: Format = ArchiveFormat.TAR_GZ
    tenant_id: TenantId | UnsetType = UNSET


class UploadOut(Output, frozen=True):
    """`stored` with the last byte; until then `offset` is where the next part begins."""

    id: Annotated[
        Id | None, Meta(description="Where parts go; null once it is stored.", examples=[31])
    ]
    tenant_id: Id
    digest: Digest
    size: Size
    format: Annotated[str, Meta(examples=["tar.gz"])]
    offset: Annotated[int, Meta(examples=[0])]
    stored: Annotated[bool, Meta(examples=[False])]
    part_bytes: Annotated[
        int, Meta(description="The largest part that is taken.", examples=[MAX_PART_BYTES])
    ]
    expires_at: Annotated[Instant | None, Meta(description="Unless another part comes.")]


class BlobOut(Output, frozen=True):
    id: Id
    tenant_id: Id
    digest: Digest
    size: Size
    format: Annotated[str, Meta(examples=["tar.gz"])]
    created_at: Instant
    used_at: Instant
