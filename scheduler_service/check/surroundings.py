"""Probes of what the service uses beside Postgres: broker, storage, state, static files."""

import tempfile
from uuid import uuid4

from django.conf import settings
from django.contrib.staticfiles import finders

from scheduler_service import health
from scheduler_service.check.result import ProbeResult, failed, ok
from storage.backends import backend

_A_STATIC_FILE = "console/console.css"


def broker() -> ProbeResult:
    """The service does without for a while (docs/outages.md); an installation should not."""
    try:
        health.CHECKS["broker"]()
    except Exception as error:  # noqa: BLE001 - brokers of two kinds have errors of many
        return failed(
            f"it does not answer: {type(error).__name__}", "Start it, or mend BROKER_URL."
        )
    return ok("it answers")


def storage() -> ProbeResult:
    """Writes, reads and removes a few bytes where archives and artifacts would lie."""
    key, data = f"check/{uuid4().hex}", b"fairwatt"
    try:
        place = backend()
        place.put(key, data)
        back = b"".join(place.read(key, 0, len(data)))
        place.delete([key])
    except Exception as error:  # noqa: BLE001 - disks and buckets have errors of many kinds
        return failed(
            f"{settings.STORAGE_URL}: {error}",
            "Let the service's user write there, or mend STORAGE_URL and the S3_ settings.",
        )
    if back != data:
        return failed(
            f"{settings.STORAGE_URL} gives back other bytes than it was given",
            "Look at the disk or the S3-compatible server.",
        )
    return ok(f"{settings.STORAGE_URL} can be written and read")


def state() -> ProbeResult:
    try:
        with tempfile.TemporaryFile(dir=settings.VAR_DIR):
            pass
    except OSError as error:
        return failed(
            f"{settings.VAR_DIR}: {error.strerror}",
            "Make the directory of FAIRWATT_VAR and give it to the service's user.",
        )
    return ok(f"{settings.VAR_DIR} can be written")


def static_files() -> ProbeResult:
    """Production serves what was collected, development what it finds."""
    found = finders.find(_A_STATIC_FILE) if settings.WHITENOISE_USE_FINDERS else None
    if found or (settings.STATIC_ROOT / _A_STATIC_FILE).is_file():
        return ok("there")
    return failed(
        f"{settings.STATIC_ROOT} lacks {_A_STATIC_FILE}",
        "Run: fairwatt-service collectstatic --noinput",
    )
