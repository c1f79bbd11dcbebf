"""Where bytes lie: a directory, or a bucket of an S3-compatible server."""

from functools import cache

from django.conf import settings

from storage.backends.base import Backend
from storage.backends.directory import DirectoryBackend
from storage.backends.s3 import S3Backend

__all__ = ["Backend", "backend"]

S3 = "s3://"


def backend() -> Backend:
    return _made(settings.STORAGE_URL)


@cache
def _made(url: str) -> Backend:
    if not url.startswith(S3):
        return DirectoryBackend(url)
    bucket, _, prefix = url.removeprefix(S3).partition("/")
    return S3Backend(
        bucket,
        prefix.strip("/"),
        endpoint=settings.S3_ENDPOINT,
        region=settings.S3_REGION,
        access_key_id=settings.S3_ACCESS_KEY_ID,
        secret_access_key=settings.S3_SECRET_ACCESS_KEY,
    )
