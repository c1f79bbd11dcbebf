"""Reads of blobs and uploads."""

from django.db.models import QuerySet

from storage.models import Blob, Upload
from tenancy.callers import Caller
from tenancy.selectors import visible


def blobs(caller: Caller) -> QuerySet[Blob]:
    return visible(Blob.objects.all(), caller)


def uploads(caller: Caller) -> QuerySet[Upload]:
    return visible(Upload.objects.all(), caller)
