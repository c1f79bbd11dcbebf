"""Blobs of tenants, known by their digest, and those that are still on their way in."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from agent.wire import ArchiveFormat
from rest.constraints import Check, ConstraintRule, Unique, composite_target

DIGEST = r"^[0-9a-f]{64}$"
FORMATS = tuple(each.value for each in ArchiveFormat)


def _digest(of: str) -> Check:
    says = "invalid_digest: A digest is the SHA-256 as 64 hexadecimal digits in lower case."
    return Check(f"{of}_digest", Q(digest__regex=DIGEST), says)


def _format(of: str) -> Check:
    says = f"invalid_format: A format is {' or '.join(FORMATS)}, or none."
    return Check(f"{of}_format", Q(format__in=("", *FORMATS)), says)


class Blob(models.Model):
    """Stored once, however often its tenant sends it; `format` says as what it was checked."""

    explained = {
        "tenant": ConstraintRule("unknown_tenant", "", "The tenant is gone, or still has blobs."),
    }

    tenant = models.ForeignKey("tenancy.Tenant", models.PROTECT, db_index=False)
    digest = models.TextField()
    size = models.BigIntegerField()
    format = models.TextField(default="")
    created_at = models.DateTimeField()
    # When somebody last asked for it; the sweep keeps what was used lately.
    used_at = models.DateTimeField()

    class Meta:
        constraints = (
            composite_target("blob"),
            Unique(
                "blob_once",
                ["tenant", "digest"],
                "already_stored: The tenant has stored these bytes already.",
            ),
            _digest("blob"),
            _format("blob"),
            Check("blob_size", Q(size__gte=0), "out_of_range: A size is not negative."),
        )
        indexes = (
            models.Index(fields=["tenant", "-id"], name="blob_by_tenant"),
            models.Index(fields=["used_at"], name="blob_by_use"),
        )

    def __str__(self) -> str:
        return self.digest[:12]

    @property
    def key(self) -> str:
        return f"blobs/{self.tenant_id}/{self.digest}"


class Upload(models.Model):
    """A blob on its way in; `parts` are the offsets at which its pieces begin."""

    explained = {
        "tenant": ConstraintRule("unknown_tenant", "", "The tenant is gone, or still uploads."),
    }

    tenant = models.ForeignKey("tenancy.Tenant", models.PROTECT, db_index=False)
    digest = models.TextField()
    size = models.BigIntegerField()
    format = models.TextField(default="")
    received = models.BigIntegerField(default=0)
    parts = ArrayField(models.BigIntegerField(), default=list)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        constraints = (
            Unique(
                "upload_once",
                ["tenant", "digest"],
                "upload_under_way: The tenant is uploading these bytes already.",
            ),
            _digest("upload"),
            _format("upload"),
            Check(
                "upload_received",
                Q(received__gte=0, received__lte=F("size")),
                "wrong_offset: An upload does not receive more than its size.",
                pointer="?offset",
            ),
        )
        indexes = (
            models.Index(fields=["tenant", "-id"], name="upload_by_tenant"),
            models.Index(fields=["expires_at"], name="upload_by_expiry"),
        )

    def __str__(self) -> str:
        return f"{self.digest[:12]} {self.received}/{self.size}"

    @property
    def keys(self) -> list[str]:
        return [self.part_key(offset) for offset in self.parts]

    def part_key(self, offset: int) -> str:
        return f"uploads/{self.pk}/{offset:020}"
