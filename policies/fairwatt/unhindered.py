"""Who would start now were there room for everybody: the others wait for a better hour."""

from dataclasses import replace

import numpy as np

from policies.bench.compiled import compiled
from policies.contract.columns import I64, Bool
from policies.contract.snapshot import Blocked, JobState, Placements, Snapshot
from policies.fairwatt import kernel as plain_kernel
from policies.fairwatt.bound import Rents
from policies.fairwatt.parameters import FairwattParameters
from policies.fairwatt.problem import problem_of
from policies.fairwatt.search import construct
from policies.pricing.price_line import price_line

# More GPUs than all jobs of a round could want.
ENDLESS = 2**30


def start_unhindered(snapshot: Snapshot, given: FairwattParameters, rows: I64) -> Bool:
    """Whether each of some queued jobs, alone in an empty cluster, would start at once."""
    line = price_line(
        snapshot, given.assumed_price_per_kwh, carbon_per_kg=given.carbon_price_per_kg
    )
    if line.flat:
        return np.ones(len(rows), np.bool_)
    problem = problem_of(_only(snapshot, rows), given)
    ahead = problem.ahead._replace(
        free=np.full_like(problem.ahead.free, ENDLESS),
        power=np.full_like(problem.ahead.power, np.inf),
    )
    problem = replace(problem, ahead=ahead)
    code, order = compiled(plain_kernel), np.arange(len(problem.rows))
    schedule = construct(code, problem, order, Rents(problem, code).until(), reserve=False)
    starting = np.zeros(len(snapshot.jobs), np.bool_)
    starting[problem.rows[schedule.made.slot == 0]] = True
    return np.asarray(starting[rows], np.bool_)


def _only(snapshot: Snapshot, rows: I64) -> Snapshot:
    """The snapshot with these jobs alone; what others hold is of no interest."""
    jobs = snapshot.jobs
    blocked = np.full(len(jobs), Blocked.HELD, np.uint8)
    blocked[rows] = Blocked.NO
    state = np.full(len(jobs), JobState.QUEUED, np.uint8)
    nothing = Placements.of(offset=np.zeros(len(jobs) + 1), node=[], gpus=[], cpus=[], mem_mib=[])
    return replace(snapshot, jobs=replace(jobs, blocked=blocked, state=state), placements=nothing)
