"""How long a node may stay silent, and how often it is asked to speak.

The node lease says whether a node gets work; the run lease, much longer, whether its attempts may
live on. An agent counts its run lease from when it sent its last successful sync, the service from
when it received it and RUN_MARGIN_S longer: the agent has killed its attempts before their GPUs are
given to others.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

# What one service of two cores bears with room to spare: see `make bench NAME=agents`.
SYNCS_PER_S = 125
SAMPLINGS_PER_S = 300  # of whole nodes, each with as many samples as it has GPUs
UPLOADS_PER_S = 75
SAMPLINGS_PER_UPLOAD = 5


@dataclass(frozen=True, slots=True)
class Leases:
    next_sync_s: float
    node_lease_s: float
    run_lease_s: float
    sample_interval_s: float
    upload_interval_s: float


def leases(nodes: int) -> Leases:
    """For a service with so many nodes: the more there are, the less often each one speaks."""
    next_sync_s = max(settings.SYNC_INTERVAL_S, nodes / SYNCS_PER_S)
    return Leases(
        next_sync_s=next_sync_s,
        node_lease_s=max(settings.NODE_LEASE_S, 5 * next_sync_s),
        run_lease_s=max(settings.RUN_LEASE_S, 20 * next_sync_s),
        sample_interval_s=max(settings.SAMPLE_INTERVAL_S, nodes / SAMPLINGS_PER_S),
        upload_interval_s=max(
            SAMPLINGS_PER_UPLOAD * settings.SAMPLE_INTERVAL_S, nodes / UPLOADS_PER_S
        ),
    )


def quiet_since(now: datetime, granted: Leases) -> datetime:
    """Who has not spoken since then has missed at least two syncs."""
    return now - timedelta(seconds=granted.node_lease_s / 2)


def silent_since(now: datetime, granted: Leases) -> datetime:
    """Who has not spoken since then is lost."""
    return now - timedelta(seconds=granted.node_lease_s)


def dead_since(now: datetime, granted: Leases) -> datetime:
    """Who has not spoken since then has killed its attempts."""
    return now - timedelta(seconds=granted.run_lease_s + settings.RUN_MARGIN_S)
