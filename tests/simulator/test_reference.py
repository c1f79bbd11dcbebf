"""The simulator against another one, of a hundred lines, that knows nothing of it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from policies.registry import build
from simulator.engine import Engine, Outcome, Pace
from simulator.machines import NodeKind
from simulator.machines import build as build_machines
from simulator.setting import plain_setting
from simulator.workload import Workload
from tests.examples import each_seed
from tests.simulator.reference import Job, Rule, easy, fifo, simulate, srtf

HOUR_S = 3600


def pool_jobs(seed: int, gpus: int, *, coincide: bool = False) -> Workload:
    """Twice as much as fits while they come; with `coincide` all times are whole minutes."""
    random = np.random.default_rng([seed, 41])
    count = int(random.integers(15, 26))
    size = random.choice([1, 1, 1, 2, 3, 4, gpus], count)
    work = np.exp(random.uniform(np.log(5), np.log(HOUR_S), count))
    submitted_s = random.uniform(0, (size * work).sum() / gpus / 2, count)
    if coincide:
        work, submitted_s = np.ceil(work / 60) * 60, np.ceil(submitted_s / 60) * 60
    priority = random.integers(3, size=count)
    return Workload.sorted(submitted_s=submitted_s, work=work, gpus=size, priority=priority)


def simulated(jobs: Workload, nodes: NodeKind, name: str, **parameters: Any) -> Outcome:
    setting = plain_setting(jobs, build_machines([nodes]))
    return Engine(setting, build(name, parameters), Pace()).run()


def referred(jobs: Workload, gpus: int, rule: Rule) -> Sequence[Job]:
    columns = (jobs.submitted_s, jobs.work, jobs.gpus, jobs.priority)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    found = [Job(number, *row) for number, row in enumerate(rows)]
    simulate(found, gpus, rule)
    return found


def lasting_start_s(outcome: Outcome) -> list[float]:
    """When each job first held GPUs for longer than a moment."""
    first: dict[int, float] = {}
    for job, from_s, to_s, *_ in outcome.log.stretches:
        if to_s > from_s:
            first.setdefault(job, from_s)
    return [first[job] for job in range(len(outcome.setting.jobs))]


def assert_equal(starts_s: ArrayLike, outcome: Outcome, found: Sequence[Job]) -> None:
    expected_s = [(job.first_start_s, job.ends_s) for job in found]
    times_s = np.column_stack([starts_s, outcome.finished_s])
    np.testing.assert_allclose(times_s, expected_s, rtol=0, atol=1e-6)


def pool(seed: int) -> tuple[NodeKind, int]:
    nodes = NodeKind(count=1 + seed % 3, gpus=4)
    return nodes, nodes.count * nodes.gpus


@each_seed(60)
def test_first_come_first_served(seed: int) -> None:
    nodes, gpus = pool(seed)
    jobs = pool_jobs(seed, gpus, coincide=seed % 2 == 1)
    outcome = simulated(jobs, nodes, "fifo")
    assert_equal(outcome.first_start_s, outcome, referred(jobs, gpus, fifo))


@each_seed(60)
def test_shortest_remaining_time_first(seed: int) -> None:
    """Without a guaranteed run time or kept nodes, and no two jobs with as much left."""
    nodes, gpus = pool(seed)
    jobs = pool_jobs(seed, gpus)
    outcome = simulated(jobs, nodes, "srtf", min_run_s=0, patience_s=365 * 86400)
    assert_equal(lasting_start_s(outcome), outcome, referred(jobs, gpus, srtf))


@each_seed(60)
def test_easy_backfill(seed: int) -> None:
    """On one node: a promise is of certain GPUs, and on one node it does not matter which."""
    jobs = pool_jobs(seed, 8, coincide=seed % 2 == 1)
    outcome = simulated(jobs, NodeKind(count=1, gpus=8), "fifo-backfill")
    assert_equal(outcome.first_start_s, outcome, referred(jobs, 8, easy))


@each_seed(60)
def test_the_worlds_tell_the_rules_apart(seed: int) -> None:
    """Else it would say little that both simulators agree on them."""
    jobs = pool_jobs(seed, 8)
    ends = {tuple(job.ends_s for job in referred(jobs, 8, rule)) for rule in (fifo, srtf, easy)}
    assert len(ends) == 3
