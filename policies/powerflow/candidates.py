"""The jobs that a round of an elastic policy decides about, and what it knows of each."""

from dataclasses import dataclass

import numpy as np

from policies.bench.draft import PlanDraft
from policies.bench.ladder import Ladder, Ladders
from policies.bench.ledger import Ask, RowPiece
from policies.bench.power import held_gpus
from policies.bench.roster import (
    borrowing,
    in_turn,
    lost_s,
    on_unready_node,
    remaining_s,
    stoppable,
    waiting,
)
from policies.contract.columns import Bool
from policies.contract.snapshot import JobState, Snapshot
from policies.powerflow.pools import Pool, PoolRoom

WAITS = -1


@dataclass(slots=True, eq=False)
class Candidate:
    """A queued job, or a running one; `rung` and `clock` are what the round decides for it."""

    row: int
    tenant: int
    options: list[tuple[Pool, Ladder]]
    """Where it could go, first listed first; a running job stays in its pool."""
    work: float
    """In the units of its ladder's throughput; inf when nobody knows."""
    cost_s: float
    """Of stopping and restarting it: work lost, and the restart."""
    held: int = 0
    pieces: tuple[RowPiece, ...] = ()
    clock_mhz: int = 0
    movable: bool = True
    pool: Pool | None = None
    rung: int = WAITS
    clock: int = 0
    rank_s: float = 0.0

    @property
    def running(self) -> bool:
        return self.held > 0

    @property
    def place(self) -> Pool:
        return self.pool or self.options[0][0]

    @property
    def ladder(self) -> Ladder:
        for pool, ladder in self.options:
            if pool is self.pool:
                return ladder
        return self.options[0][1]

    @property
    def gpus(self) -> int:
        """What it is to have; 0 when it is to wait."""
        return 0 if self.rung == WAITS else self.ladder.counts[self.rung]

    def narrower(self) -> list[int]:
        """What it makes do with where its rung is not to be had, the widest first."""
        return [rung for rung in reversed(self.ladder.rising(self.clock)) if rung < self.rung]

    def ask(self, draft: PlanDraft, gpus: int, gpu_w: float | None = None) -> Ask:
        """For so many GPUs where it is to be; without `gpu_w` watts are not looked at."""
        return draft.ask(self.row, self.place.partition, self.place.kind, gpus, gpu_w)

    def left_s(self, rung: int, clock: int) -> float:
        return self.work / self.ladder.throughput[rung][clock]


def tuned_jobs(snapshot: Snapshot) -> Bool:
    """Running jobs that hold GPUs: their clocks may change."""
    return np.asarray((snapshot.jobs.state == JobState.RUNNING) & (held_gpus(snapshot) > 0))


def movable_jobs(snapshot: Snapshot, tuned: Bool, min_run_s: float) -> Bool:
    """Of these, who may be resized and stopped: all at home, on ready nodes."""
    movable = tuned & stoppable(snapshot, min_run_s)
    return movable & ~borrowing(snapshot) & ~on_unready_node(snapshot)


def candidates_of(room: PoolRoom, ladders: Ladders, movable: Bool, tuned: Bool) -> list[Candidate]:
    """Running jobs that stay where they are, then everybody else, shortest remaining first."""
    jobs = room.snapshot.jobs
    chosen = np.flatnonzero((waiting(room.snapshot) & _typed(room.snapshot)) | tuned)
    builder = _CandidateBuilder(room, ladders, movable, tuned)
    found = [builder.build(row) for row in chosen.tolist()]
    rank_s, movable_too = (
        np.array([one.rank_s for one in found]),
        np.array([one.movable for one in found], np.bool_),
    )
    position = np.empty(len(jobs), np.int64)
    position[chosen] = np.arange(len(chosen))
    order = position[in_turn(room.snapshot, chosen, rank_s, movable_too)]
    return [found[at] for at in order.tolist()]


def _typed(snapshot: Snapshot) -> Bool:
    """Jobs that allow a GPU type that there is; others wait, whatever is decided."""
    known = np.uint64((1 << len(snapshot.gpu_types)) - 1)
    return np.asarray(snapshot.jobs.gpu_types & known > 0)


class _CandidateBuilder:
    """Columns as lists: they are read row by row."""

    def __init__(self, room: PoolRoom, ladders: Ladders, movable: Bool, tuned: Bool) -> None:
        snapshot = room.snapshot
        jobs, held, nodes = snapshot.jobs, snapshot.placements, snapshot.nodes
        self.room, self.ladders = room, ladders
        self.tenant: list[int] = jobs.tenant.tolist()
        self.partition: list[int] = jobs.partition.tolist()
        self.profile: list[int] = jobs.profile.tolist()
        self.min_gpus: list[int] = jobs.min_gpus.tolist()
        self.max_gpus: list[int] = jobs.max_gpus.tolist()
        self.gpu_types: list[int] = jobs.gpu_types.tolist()
        self.work_left: list[float] = np.nan_to_num(jobs.work_left, nan=np.inf).tolist()
        self.est_run_s: list[float] = remaining_s(snapshot).tolist()
        self.clock_mhz: list[int] = jobs.clock_mhz.tolist()
        self.cost_s: list[float] = lost_s(snapshot).tolist()
        self.held: list[int] = np.where(tuned, held_gpus(snapshot), 0).tolist()
        self.movable: list[bool] = movable.tolist()
        self.kinds = range(len(snapshot.gpu_types))
        self.node_kind: list[int] = nodes.gpu_type.tolist()
        self.node_partition: list[int] = nodes.partition.tolist()
        self.offset: list[int] = held.offset.tolist()
        self.pieces: list[RowPiece] = held.pieces()

    def build(self, row: int) -> Candidate:
        held = self.held[row]
        pieces = tuple(self.pieces[self.offset[row] : self.offset[row + 1]]) if held else ()
        options = self._there(row, pieces[0][0]) if held else self._anywhere(row)
        ladder = options[0][1]
        if self.profile[row] >= 0 and self.work_left[row] < np.inf:
            work = self.work_left[row]
        else:
            work = self.est_run_s[row] * ladder.throughput[0][-1]
        one = Candidate(
            row=row,
            tenant=self.tenant[row],
            options=options,
            work=work,
            cost_s=self.cost_s[row],
            held=held,
            pieces=pieces,
            clock_mhz=self.clock_mhz[row],
            movable=self.movable[row] if held else True,
        )
        one.rank_s = one.left_s(0, ladder.efficient[0])
        if held:
            one.pool = options[0][0]
            # Who would take its place must gain more than stopping it costs.
            one.rank_s -= one.cost_s
        return one

    def _there(self, row: int, node: int) -> list[tuple[Pool, Ladder]]:
        kind, held = self.node_kind[node], self.held[row]
        pool = self.room.pool(self.node_partition[node], kind)
        if self.movable[row]:
            low, high = self.min_gpus[row], max(self.max_gpus[row], self.min_gpus[row])
        else:
            low = high = held
        return [(pool, self.ladders.of(self.profile[row], kind, low, high))]

    def _anywhere(self, row: int) -> list[tuple[Pool, Ladder]]:
        low, high, profile = self.min_gpus[row], self.max_gpus[row], self.profile[row]
        return [
            (self.room.pool(self.partition[row], kind), self.ladders.of(profile, kind, low, high))
            for kind in self.kinds
            if self.gpu_types[row] >> kind & 1
        ]
