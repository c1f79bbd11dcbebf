"""Named locks per cluster, so that two processes do not do the same work twice."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from django.db import connection

# The upper half of the advisory key says what is locked; the lower half says which.
_ROUND = 0x0F41_0001 << 32
_BOUND = 0x0F41_0002 << 32


def cluster_lock(cluster_id: int) -> AbstractContextManager[bool]:
    """For who runs the cluster's rounds."""
    return _lock(_ROUND | cluster_id)


def bound_lock(cluster_id: int) -> AbstractContextManager[bool]:
    """For who looks for a bound of one of the cluster's rounds."""
    return _lock(_BOUND | cluster_id)


@contextmanager
def _lock(key: int) -> Iterator[bool]:
    """True while held; False at once when another session has it. A dead session frees it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [key])
        held = bool(cursor.fetchone()[0])
    try:
        yield held
    finally:
        if held:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [key])
