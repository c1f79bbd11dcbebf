"""The one table of the conventions: answers kept so that a repeated POST has one effect."""

from django.db import models


class IdempotencyKey(models.Model):
    """The answer to one keyed POST; `digest` covers who asked and the key, never the key itself."""

    digest = models.BinaryField(primary_key=True, max_length=32)
    request_digest = models.BinaryField(max_length=32)
    status = models.PositiveSmallIntegerField()
    headers = models.JSONField()
    body = models.BinaryField()
    created_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return bytes(self.digest).hex()
