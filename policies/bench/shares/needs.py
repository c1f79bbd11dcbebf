"""What a job does with CPUs and memory: its proportional share, its demand, and what lies between.

Shares are per GPU. A profile's relative speed is read at the largest measured point that a share
reaches; a speed of 0 or nan is a point that cannot be.
"""

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from policies.contract.columns import F64
from policies.contract.snapshot import ProfileTable

# Speeds are measured to a few digits; what differs by less is the same.
_SAME = 1e-9


class Share(NamedTuple):
    cpus: int
    mem_mib: int

    def within(self, other: "Share") -> bool:
        return self.cpus <= other.cpus and self.mem_mib <= other.mem_mib


class SharePoint(NamedTuple):
    speed: float
    share: Share


@dataclass(frozen=True, slots=True)
class Needs:
    """`points` are all worth having, the fastest first; none is slower than the proportional share.

    `modest` is never above the proportional share and never slower: what a job can always have. A
    job that only states requests has one point, so that its share is hard.
    """

    proportional: Share
    modest: Share
    demand: Share
    points: tuple[SharePoint, ...]
    _speeds: dict[Share, float] = field(default_factory=dict)

    def speed(self, share: Share) -> float:
        """Of a share that reaches no point it is not known; such a job is counted as standing."""
        found = self._speeds.get(share)
        if found is None:
            reached = (point.speed for point in self.points if point.share.within(share))
            found = self._speeds[share] = next(reached, 0.0)
        return found


def hard(request: Share) -> Needs:
    return Needs(request, request, request, (SharePoint(1.0, request),))


class ProfileSpeeds:
    """One profile's relative speeds over CPUs and memory per GPU."""

    def __init__(self, profiles: ProfileTable, row: int) -> None:
        self._cpus: F64 = profiles.cpus_per_gpu
        self._mem_mib: F64 = profiles.mem_mib_per_gpu
        self._speed: F64 = np.nan_to_num(profiles.relative_speed[row], nan=0.0)

    @property
    def known(self) -> bool:
        return bool(self._speed.size) and bool((self._speed > 0).any())

    def at(self, share: Share) -> float:
        """At the largest measured point within the share; below all points, at the smallest."""
        cpus = max(int(np.searchsorted(self._cpus, share.cpus, side="right")) - 1, 0)
        mem = max(int(np.searchsorted(self._mem_mib, share.mem_mib, side="right")) - 1, 0)
        return float(self._speed[cpus, mem])

    def needs(self, proportional: Share, most: Share, floor: Share) -> Needs:
        """`most` is all that one node could give per GPU, `floor` what the job asks for itself."""
        own = Share(max(proportional.cpus, floor.cpus), max(proportional.mem_mib, floor.mem_mib))
        fair = self.at(own)
        found = [SharePoint(fair, own)]
        for (cpus, mem), speed in np.ndenumerate(self._speed):
            share = Share(
                max(math.ceil(self._cpus[cpus]), floor.cpus),
                max(math.ceil(self._mem_mib[mem]), floor.mem_mib),
            )
            if speed >= fair - _SAME and share.within(most):
                found.append(SharePoint(float(speed), share))
        points = _worth_having(found, own)
        modest = min((p for p in points if p.share.within(own)), key=lambda p: _size(p.share, own))
        return Needs(own, modest.share, points[0].share, points)


def _worth_having(found: list[SharePoint], own: Share) -> tuple[SharePoint, ...]:
    """The fastest first, of equal ones the smallest; a point no better than a smaller one goes."""
    kept: list[SharePoint] = []
    for point in sorted(found, key=lambda p: _size(p.share, own)):
        better = (p.speed >= point.speed - _SAME and p.share.within(point.share) for p in kept)
        if not any(better):
            kept.append(point)
    return tuple(sorted(kept, key=lambda p: (-p.speed, _size(p.share, own))))


def _size(share: Share, own: Share) -> tuple[float, int]:
    """How much of a node a share takes, counting CPUs and memory by the proportional share."""
    return share.cpus / max(own.cpus, 1) + share.mem_mib / max(own.mem_mib, 1), share.cpus
