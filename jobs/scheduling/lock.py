"""A named lock per cluster, so that two schedulers do not plan the same round twice."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection

# The upper half of the advisory key says what is locked; the lower half says which.
_ROUND = 0x0F41_0001 << 32


@contextmanager
def cluster_lock(cluster_id: int) -> Iterator[bool]:
    """True while held; False at once when another session has it. A dead session frees it."""
    key = _ROUND | cluster_id
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [key])
        held = bool(cursor.fetchone()[0])
    try:
        yield held
    finally:
        if held:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [key])
