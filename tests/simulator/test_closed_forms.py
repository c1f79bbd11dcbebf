"""One GPU served first come first served is a queue with known answers."""

import numpy as np
import pytest

from policies.contract.columns import F64
from policies.registry import build
from simulator.engine import Engine, Outcome, Pace
from simulator.machines import NodeKind
from simulator.machines import build as build_machines
from simulator.measure import measure
from simulator.setting import plain_setting
from simulator.workload import Workload

pytestmark = pytest.mark.slow


def one_gpu(submitted_s: F64, work: F64, name: str = "fifo") -> Outcome:
    jobs = Workload.sorted(submitted_s=submitted_s, work=work, gpus=np.ones(len(work)))
    setting = plain_setting(jobs, build_machines([NodeKind(count=1, gpus=1)]))
    return Engine(setting, build(name, {}), Pace()).run()


def test_waits_follow_lindley() -> None:
    random = np.random.default_rng(5)
    submitted_s = np.cumsum(random.integers(1, 200, 300)).astype(float)
    work = random.integers(1, 190, 300).astype(float)
    waits = [0.0]
    for before in range(len(work) - 1):
        gap_s = submitted_s[before + 1] - submitted_s[before]
        waits.append(max(0.0, waits[-1] + work[before] - gap_s))
    outcome = one_gpu(submitted_s, work)
    assert (outcome.first_start_s - submitted_s).tolist() == waits


def test_equal_jobs_that_come_together_wait_in_line() -> None:
    outcome = one_gpu(np.zeros(10), np.full(10, 7.0))
    assert outcome.finished_s.tolist() == [7.0 * (i + 1) for i in range(10)]


def test_mean_wait_of_poisson_arrivals_with_constant_work() -> None:
    """M/D/1: half the load over what is left of it, times the work."""
    random = np.random.default_rng(11)
    work_s, load, count = 100.0, 0.6, 6000
    submitted_s = np.cumsum(random.exponential(work_s / load, count))
    outcome = one_gpu(submitted_s, np.full(count, work_s))
    mean_wait_s = float(np.mean(outcome.first_start_s - submitted_s))
    assert mean_wait_s == pytest.approx(work_s * load / (2 * (1 - load)), rel=0.1)


def test_shortest_first_is_best_for_jobs_that_come_together() -> None:
    work = np.array([5.0, 1.0, 3.0, 2.0, 4.0])
    summary = measure(one_gpu(np.zeros(5), work, "sjf")).summary
    assert summary["jct_mean_s"] == np.cumsum(np.sort(work)).mean()


def test_a_busy_gpu_is_fully_utilised() -> None:
    summary = measure(one_gpu(np.zeros(4), np.full(4, 25.0))).summary
    assert summary["gpu_allocation"] == summary["gpu_utilisation"] == 1.0
    assert summary["makespan_s"] == 100.0
