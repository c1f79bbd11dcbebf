"""The last step of a round in which CPUs and memory matter: everybody's share is made final."""

from collections.abc import Callable

import numpy as np
from msgspec.structs import replace

from policies.bench.draft import PlanDraft
from policies.bench.roster import lost_s
from policies.bench.shares.needs import SharePoint
from policies.bench.shares.share_ledger import Holding
from policies.contract.columns import Bool
from policies.contract.plan import Move, Retune
from policies.fairwatt.problem import FairwattProblem
from policies.fairwatt.search import SlotSchedule
from policies.fairwatt.share_tuner import ShareTuner
from policies.fairwatt.way_builder import LEAST_CHANGE_S


def share_out(
    problem: FairwattProblem,
    schedule: SlotSchedule,
    draft: PlanDraft,
    tuner: ShareTuner,
    *,
    hysteresis: float,
    moves: bool,
) -> None:
    """Entries get the shares that there are in the end; residents that gave or got are retuned.

    With `moves` two running jobs change places where that saves `hysteresis` times what it costs.
    """
    movable = _movable(problem, draft) & moves
    tuner.settle(_rank(problem, schedule), movable, _pays(problem, hysteresis))
    for row, written in draft.placed.items():
        draft.placed[row] = replace(written, pieces=tuner.holdings[row].pieces)
    for holding, elsewhere in tuner.changed():
        clock_mhz = int(problem.snapshot.jobs.clock_mhz[holding.row])
        draft.write(Move if elsewhere else Retune, holding.row, holding.pieces, clock_mhz)


def _movable(problem: FairwattProblem, draft: PlanDraft) -> Bool:
    """Running jobs that may be changed and have no entry yet."""
    movable = np.zeros(len(problem.snapshot.jobs), np.bool_)
    movable[problem.rows[problem.wants.held >= 0]] = True
    movable[[*draft.preempted, *draft.placed, *draft.clocks]] = False
    return movable


def _rank(problem: FairwattProblem, schedule: SlotSchedule) -> Callable[[Holding], tuple[int, int]]:
    """Who gets what is left: the most GPUs first, then in the schedule's order."""
    position = np.full(len(problem.snapshot.jobs), len(problem.rows))
    position[problem.rows[schedule.order]] = np.arange(len(schedule.order))
    return lambda holding: (-holding.gpus, int(position[holding.row]))


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

    def pays(holding: Holding, point: SharePoint, other: Holding) -> bool:
        saved_s = run_s[holding.row] * (1.0 - holding.needs.speed(holding.share) / point.speed)
        return bool(saved_s * per_s[holding.row] > lost[holding.row] + lost[other.row])

    return pays
