"""Named locks per cluster, so that two processes do not do the same work twice."""

import logging
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from django.db import connection

logger = logging.getLogger(__name__)

# The upper half of the advisory key says what is locked; the lower half says which.
_ROUND = 0x0F41_0001 << 32
_BOUND = 0x0F41_0002 << 32


# Longer than any task may take: whoever holds a lock and asks nothing for longer has stopped.
SITS_S = 120
_END_SITTERS = """
SELECT pg_terminate_backend(session.pid) FROM pg_locks lock
JOIN pg_stat_activity session ON session.pid = lock.pid
WHERE lock.locktype = 'advisory' AND lock.granted AND lock.classid::int8 = ANY(%s)
  AND lock.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND session.pid <> pg_backend_pid() AND session.state <> 'active'
  AND session.state_change < clock_timestamp() - %s * interval '1 second'
"""


def sitters_end(*, sits_s: float = SITS_S) -> int:
    """End the sessions that sit on a lock of ours; their processes are stopped, or cut off."""
    with connection.cursor() as cursor:
        cursor.execute(_END_SITTERS, [[_ROUND >> 32, _BOUND >> 32], sits_s])
        ended = len(cursor.fetchall())
    if ended:
        logger.error("ended %d sessions that sat on the lock of a round", ended)
    return ended


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
