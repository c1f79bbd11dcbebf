"""When every queued job starts and finishes, and what it draws, if the queue runs on as it is."""

# ruff: noqa: RUF009  # column() is dataclasses.field() in other words

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np

from policies.contract.columns import F64, I64, ColumnTable, column
from policies.contract.policy import Policy
from policies.contract.snapshot import JobState, Snapshot
from policies.pricing.cost import anyway_w
from simulator.engine import Engine, Pace
from simulator.live import EnergyTerms, Guess, Live, engine_from
from simulator.log import StretchEnd

# The interval spans the middle 80 % of the runs with other run times.
LOW, HIGH = 0.1, 0.9


@dataclass(frozen=True, slots=True, eq=False)
class QueueForecast(ColumnTable):
    """One row per queued job that takes part; nan is not within what was simulated.

    Joules and money are full, as `policies.pricing.cost` has it and as the ledger will: of the GPUs
    that the job holds and of their share of the hosts, times PUE.
    """

    job: I64 = column(np.int64)
    start_s: F64 = column(np.float64)
    start_low_s: F64 = column(np.float64)
    start_high_s: F64 = column(np.float64)
    finish_s: F64 = column(np.float64)
    finish_low_s: F64 = column(np.float64)
    finish_high_s: F64 = column(np.float64)
    full_energy_j: F64 = column(np.float64)
    full_cost: F64 = column(np.float64)


class _OutOfTime(Exception):
    pass


def estimate(
    snapshot: Snapshot,
    policy: Policy,
    pace: Pace,
    guess: Guess,
    *,
    members: int = 8,
    terms: EnergyTerms | None = None,
    left_out: Collection[int] = (),
    out_of_time: Callable[[], bool] = lambda: False,
) -> QueueForecast:
    """Run the snapshot forward, once as estimated and `members` times with other run times.

    When time is up, what was simulated until then is the answer; whole members are left out.
    """

    def live(seed: int | None) -> Live:
        member = replace(guess, seed=seed)
        return engine_from(snapshot, policy, pace, member, terms=terms, left_out=left_out)

    expected = live(None)
    run_within(expected.engine, out_of_time)
    start_s, finish_s = start_and_finish(expected.engine)
    full_energy_j, full_cost = _spent(expected.engine)
    others: list[tuple[F64, F64]] = []
    for seed in range(members):
        engine = live(seed).engine
        if out_of_time() or not run_within(engine, out_of_time):
            break
        others.append(start_and_finish(engine))
    start_low_s, start_high_s = _bounds(start_s, [start for start, _ in others])
    finish_low_s, finish_high_s = _bounds(finish_s, [finish for _, finish in others])
    queued = _queued(snapshot, expected.job_ids)
    columns = {
        "job": expected.job_ids,
        "start_s": start_s,
        "start_low_s": start_low_s,
        "start_high_s": start_high_s,
        "finish_s": finish_s,
        "finish_low_s": finish_low_s,
        "finish_high_s": finish_high_s,
        "full_energy_j": full_energy_j,
        "full_cost": full_cost,
    }
    return QueueForecast.of(**{name: values[queued] for name, values in columns.items()})


def run_within(engine: Engine, out_of_time: Callable[[], bool]) -> bool:
    """Whether it came to its end."""

    def look(now_s: float, finished: int) -> None:
        if out_of_time():
            raise _OutOfTime

    try:
        engine.run(look)
    except _OutOfTime:
        engine.world.close()
        return False
    return True


def start_and_finish(engine: Engine) -> tuple[F64, F64]:
    """Of jobs that still ran when the simulation ended, the finish is estimated all the same."""
    world, stretches = engine.world, engine.world.log.table()
    finish_s = world.finished_s.copy()
    running = stretches.end == StretchEnd.OPEN
    rows = stretches.job[running]
    left = world.jobs.work[rows] - world.jobs.done[rows]
    resumes_s = (stretches.from_s + stretches.idle_s)[running]
    finish_s[rows] = resumes_s + left / stretches.rate[running] + world.costs.end_s
    return world.first_start_s + world.costs.start_s, finish_s


def _spent(engine: Engine) -> tuple[F64, F64]:
    """Joules and money per job; nan for jobs that did not finish, and where no price is known."""
    setting, log = engine.setting, engine.world.log
    price = setting.price
    stretches = log.table()
    each_w = anyway_w(setting.machines.nodes, setting.machines.gpu_types).tolist()
    idle_w = [
        sum(each_w[node] * mask.bit_count() for node, mask, *_ in pieces) for pieces in log.pieces
    ]
    # A stretch counts what its job adds to nodes that are on.
    watts = (stretches.watts + np.array(idle_w)) * setting.pue
    joules = watts * (stretches.to_s - stretches.from_s)
    money = (
        np.full(len(watts), np.nan)
        if price is None
        else price.cost(watts, stretches.from_s, stretches.to_s)
    )
    unfinished = np.isnan(engine.world.finished_s)

    def per_job(amount: F64) -> F64:
        total = np.bincount(stretches.job, amount, minlength=len(setting.jobs))
        return np.where(unfinished, np.nan, total)

    return per_job(joules), per_job(money)


def _bounds(expected_s: F64, others_s: list[F64]) -> tuple[F64, F64]:
    """The middle of the members, and the expected time itself; nan is later than all."""
    if not others_s:
        return np.full(len(expected_s), np.nan), np.full(len(expected_s), np.nan)
    every = np.stack(others_s)
    every = np.where(np.isnan(every), np.inf, every)
    low_s = np.quantile(every, LOW, axis=0, method="lower")
    high_s = np.quantile(every, HIGH, axis=0, method="higher")
    low_s = np.fmin(low_s, expected_s)
    high_s = np.where(np.isnan(expected_s), np.inf, np.fmax(high_s, expected_s))
    return _finite(low_s), _finite(high_s)


def _finite(times_s: F64) -> F64:
    return np.where(np.isfinite(times_s), times_s, np.nan)


def _queued(snapshot: Snapshot, job_ids: I64) -> I64:
    jobs = snapshot.jobs
    waiting = jobs.id[jobs.state == JobState.QUEUED]
    return np.flatnonzero(np.isin(job_ids, waiting))
