"""How long a node may stay silent, and how often it is asked to speak.

The node lease says whether a node gets work; the run lease, much longer, whether its attempts may
live on. An attempt's run lease is agreed upon when it is handed out, and stays: an agent counts it
from when it sent its last successful sync, the service from when it received that and RUN_MARGIN_S
longer, so that the agent has killed the attempt before its GPUs are given to others. Time in which
the service did not watch counts against nobody.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from agent.wire import DesiredAttempt

# What one service of two cores bears with room to spare: see `make bench NAME=agents`.
SYNCS_PER_S = 400
SAMPLINGS_PER_S = 300  # of whole nodes, each with as many samples as it has GPUs
UPLOADS_PER_S = 75
SAMPLINGS_PER_UPLOAD = 5


@dataclass(frozen=True, slots=True)
class Leases:
    next_sync_s: float
    node_lease_s: float
    run_lease_s: float
    """Of attempts whose jobs name none."""
    sample_interval_s: float
    upload_interval_s: float

    @property
    def least_run_lease_s(self) -> float:
        """Whatever a job asks for: several syncs may fail."""
        return 20 * self.next_sync_s


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


def node_run_lease_s(granted: Leases, attempts: Iterable[DesiredAttempt]) -> float:
    """For an agent that knows one lease for all: the shortest, so that none lives too long."""
    own = [attempt.run_lease_s for attempt in attempts if attempt.run_lease_s is not None]
    return min([granted.run_lease_s, *own])


def quiet_since(now: datetime, granted: Leases) -> datetime:
    """Who has not spoken since then has missed at least two syncs."""
    return now - timedelta(seconds=granted.node_lease_s / 2)


def silent_since(now: datetime, granted: Leases) -> datetime:
    """Who has not spoken since then is lost."""
    return now - timedelta(seconds=granted.node_lease_s)


def lost_lately_since(now: datetime, granted: Leases) -> datetime:
    """Who was lost since then may yet come back with its attempts."""
    return now - timedelta(seconds=granted.run_lease_s + settings.RUN_MARGIN_S)


@dataclass(frozen=True, slots=True)
class WatchGap:
    """A stretch in which nobody watched."""

    began_at: datetime
    ended_at: datetime

    def within(self, since: datetime) -> timedelta:
        return max(self.ended_at - max(self.began_at, since), timedelta(0))


def is_over(
    run_lease_s: float | None, heard_at: datetime, pauses: Sequence[WatchGap], now: datetime
) -> bool:
    """Whether an attempt last heard of then is dead: its agent has killed it."""
    lease_s = settings.RUN_LEASE_S if run_lease_s is None else run_lease_s
    paused = sum((pause.within(heard_at) for pause in pauses), timedelta(0))
    return now - heard_at - paused > timedelta(seconds=lease_s + settings.RUN_MARGIN_S)
