"""Backfill: the first waiting jobs of a partition get a reservation that later ones may not delay.

With one reservation this is EASY backfill, with many it is conservative backfill.
"""

import math

import numpy as np

from policies.bench.ledger import Ask, Hold, Ledger, RowPiece
from policies.classic.timeline import Booking, Timeline
from policies.contract.columns import F64
from policies.contract.snapshot import JobState

# A job that has outrun its estimate is expected to end this soon, again and again.
_SOON_S = 60.0


class Backfill:
    def __init__(self, ledger: Ledger, *, reservations: int, default_run_s: float) -> None:
        snapshot = ledger.snapshot
        self.ledger = ledger
        self.now_s = snapshot.now_s
        est_run_s = snapshot.jobs.est_run_s
        run_s: F64 = np.where(np.isnan(est_run_s), default_run_s, est_run_s)
        run_s = np.maximum(run_s, _SOON_S)
        run_s[snapshot.jobs.state == JobState.STOPPING] = _SOON_S
        self.run_s: list[float] = run_s.tolist()
        self.tenant: list[int] = snapshot.jobs.tenant.tolist()
        self._most = reservations
        self._timelines: dict[int, Timeline] = {}
        self._first_start_s: dict[int, float] = {}
        self._made: dict[int, int] = {}
        self._started: list[tuple[float, RowPiece]] = []
        self._too_long_s: dict[int, float] = {}

    def start(self, row: int, partition: int, ask: Ask, types: tuple[int, ...]) -> Hold | None:
        """Place the job now unless that would delay a reservation."""
        run_s = self.run_s[row]
        if run_s >= self._too_long_s.get(id(ask), math.inf):
            return None
        tenant = self.tenant[row]
        timeline = self._timelines.get(partition)
        unhindered = timeline is None or (
            self.now_s + run_s <= self._first_start_s.get(partition, math.inf)
        )
        if timeline is None or unhindered:
            hold = self.ledger.try_place(ask, tenant, types)
        else:
            fence = timeline.fence(run_s)
            self.ledger.take(fence)
            hold = self.ledger.try_place(ask, tenant, types)
            self.ledger.give(fence)
        if hold is None and types is ask.types:
            self._too_long_s[id(ask)] = 0.0 if unhindered else run_s
        if hold is not None:
            self._note(row, ask, hold, timeline)
        return hold

    def reserve(self, row: int, partition: int, ask: Ask, types: tuple[int, ...]) -> float | None:
        """Promise the job its earliest room, if promises are left; returns when that is."""
        if self._made.get(partition, 0) >= self._most:
            return None
        timeline = self._timelines.get(partition)
        if timeline is None:
            timeline = self._timelines[partition] = self._open(partition)
        reservation = timeline.earliest(ask, types, self.run_s[row])
        if reservation is None:
            return None
        timeline.book(reservation.shares, ask, reservation.start_s, self.run_s[row])
        self._made[partition] = self._made.get(partition, 0) + 1
        first_s = self._first_start_s.get(partition, math.inf)
        self._first_start_s[partition] = min(first_s, reservation.start_s)
        return reservation.start_s

    def promised(self, partition: int) -> bool:
        """Whether a job of the partition has a reservation."""
        return self._made.get(partition, 0) > 0

    def _note(self, row: int, ask: Ask, hold: Hold, timeline: Timeline | None) -> None:
        if timeline is None:
            end_s = self.now_s + self.run_s[row]
            self._started += [(end_s, piece) for piece in hold.pieces]
        else:
            shares = [(node, gpus.bit_count()) for node, gpus, _, _ in hold.pieces]
            timeline.book(shares, ask, self.now_s, self.run_s[row])

    def _open(self, partition: int) -> Timeline:
        snapshot = self.ledger.snapshot
        nodes = [
            node
            for (owner, _), index in self.ledger.indexes.items()
            if owner == partition
            for node in self.ledger.nodes_of((index,))
        ]
        held = snapshot.placements
        end_s = self.now_s + np.array(self.run_s)[held.job_of_piece()]
        running = map(
            Booking,
            end_s.tolist(),
            held.node.tolist(),
            np.bitwise_count(held.gpus).tolist(),
            held.cpus.tolist(),
            held.mem_mib.tolist(),
        )
        started = (
            Booking(end_s, node, gpus.bit_count(), cpus, mem_mib)
            for end_s, (node, gpus, cpus, mem_mib) in self._started
        )
        return Timeline(self.ledger, sorted(nodes), [*running, *started])
