"""The last step of a round in which CPUs and memory matter: everybody's share is made final."""

from collections.abc import Callable
from typing import TypeVar

import msgspec
import numpy as np

from policies.bench.roster import lost_s
from policies.bench.shares.needs import SharePoint
from policies.bench.shares.share_ledger import Holding
from policies.contract.columns import Bool
from policies.contract.plan import Move, Placing, Retune
from policies.contract.plan_columns import pieces_of, rows_of
from policies.fairwatt.options import LEAST_CHANGE_S
from policies.fairwatt.plan_writer import Entries
from policies.fairwatt.problem import FairwattProblem
from policies.fairwatt.search import SlotSchedule
from policies.fairwatt.share_tuner import ShareTuner

P = TypeVar("P", bound=Placing)


def share_out(
    problem: FairwattProblem,
    schedule: SlotSchedule,
    entries: Entries,
    seating: ShareTuner,
    *,
    hysteresis: float,
    moves: bool,
) -> None:
    """Entries get the shares that there are in the end; residents that gave or got are retuned.

    With `moves` two running jobs change places where that saves `hysteresis` times what it costs.
    """
    jobs, nodes = problem.snapshot.jobs, problem.snapshot.nodes.id
    movable = _movable(problem, entries) & moves
    seating.settle(_rank(problem, schedule), movable, _pays(problem, hysteresis))

    def final(acts: list[P]) -> list[P]:
        rows = rows_of(jobs.id, (act.job for act in acts)).tolist()
        shares = [pieces_of(nodes, seating.seats[row].pieces) for row in rows]
        return [
            msgspec.structs.replace(act, pieces=pieces)
            for act, pieces in zip(acts, shares, strict=True)
        ]

    entries.starts = final(entries.starts)
    entries.moves = final(entries.moves)
    entries.resizes = final(entries.resizes)
    for seat, elsewhere in seating.changed():
        job, pieces = int(jobs.id[seat.row]), pieces_of(nodes, seat.pieces)
        if elsewhere:
            entries.moves.append(Move(job, pieces, int(jobs.clock_mhz[seat.row])))
        else:
            entries.retunes.append(Retune(job, pieces))


def _movable(problem: FairwattProblem, entries: Entries) -> Bool:
    """Running jobs that may be changed and have no entry yet."""
    jobs = problem.snapshot.jobs
    movable = np.zeros(len(jobs), np.bool_)
    movable[problem.rows[problem.wants.held >= 0]] = True
    acts = (*entries.preempts, *entries.moves, *entries.resizes, *entries.clocks)
    movable[rows_of(jobs.id, (act.job for act in acts))] = False
    return movable


def _rank(problem: FairwattProblem, schedule: SlotSchedule) -> Callable[[Holding], tuple[int, int]]:
    """Who gets what is left: the most GPUs first, then in the schedule's order."""
    position = np.full(len(problem.snapshot.jobs), len(problem.rows))
    position[problem.rows[schedule.order]] = np.arange(len(schedule.order))
    return lambda seat: (-seat.gpus, int(position[seat.row]))


def _pays(
    problem: FairwattProblem, hysteresis: float
) -> Callable[[Holding, SharePoint, Holding], bool]:
    """Whether what a job saves by running faster is worth two restarts."""
    count, held = len(problem.snapshot.jobs), problem.wants.held
    mine = np.flatnonzero(held >= 0)
    rows, stay = problem.rows[mine], held[mine]
    run_s, per_s = np.zeros(count), np.zeros(count)
    run_s[rows] = problem.ways.run_s[stay]
    per_s[rows] = problem.wants.wait[mine] + problem.ways.watts[stay] * problem.ahead.least
    lost = np.maximum(lost_s(problem.snapshot), LEAST_CHANGE_S) * hysteresis * per_s

    def pays(seat: Holding, point: SharePoint, other: Holding) -> bool:
        saved_s = run_s[seat.row] * (1.0 - seat.appetite.speed(seat.share) / point.speed)
        return bool(saved_s * per_s[seat.row] > lost[seat.row] + lost[other.row])

    return pays
