"""A wide job among small ones that come for ever: every policy starts it within a bound."""

from typing import Any

import numpy as np
import pytest

from policies.contract.snapshot import Span
from policies.registry import build, policy_names
from simulator.engine import Engine, Pace
from simulator.machines import NodeKind
from simulator.machines import build as build_machines
from simulator.setting import plain_setting
from simulator.workload import Workload

EVERY_S, RUN_S, COUNT = 60.0, 900.0, 240
"""Small jobs: 15 GPUs' worth of them for 12 GPUs."""
CAME_S, PATIENCE_S = 3600.0, 600.0
NEVER = 365 * 86400.0
QUICK: dict[str, dict[str, Any]] = {"andreas": {"iterations": 5}}
# Whatever comes later stays behind them, or they may stop others.
NEED_NONE = {"fifo", "fifo-backfill", "conservative-backfill", "las", "gandiva"}
WIDE = {"a node": (4, Span.NODE), "two nodes": (8, Span.ANY)}


def started_s(name: str, gpus: int, span: Span, patience_s: float) -> float:
    """When the wide job starts; inf for never as long as others come."""
    came_s = np.arange(COUNT) * EVERY_S
    others = np.full(COUNT, 1)
    jobs = Workload.sorted(
        submitted_s=np.append(came_s, CAME_S + 1),
        work=np.append(np.full(COUNT, RUN_S), 3 * RUN_S),
        gpus=np.append(others, gpus),
        span=np.append(np.full(COUNT, Span.ANY), span),
        preemptible=np.full(COUNT + 1, fill_value=False),
    )
    machines = build_machines([NodeKind(count=3, gpus=4, cpus=4)])
    policy = build(name, {**QUICK.get(name, {}), "patience_s": patience_s})
    pace = Pace(until_s=came_s[-1], check_plans=True)
    outcome = Engine(plain_setting(jobs, machines), policy, pace).run()
    first_s = float(outcome.first_start_s[jobs.gpus > 1][0])
    return np.inf if np.isnan(first_s) else first_s


@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("name", policy_names())
def test_a_wide_job_waits_for_its_patience_and_one_run_at_most(name: str, wide: str) -> None:
    gpus, span = WIDE[wide]
    waited_s = started_s(name, gpus, span, PATIENCE_S) - CAME_S
    assert waited_s <= PATIENCE_S + EVERY_S + RUN_S


@pytest.mark.parametrize("wide", WIDE)
@pytest.mark.parametrize("name", [name for name in policy_names() if name not in NEED_NONE])
def test_without_nodes_kept_for_it_small_jobs_pass_it(name: str, wide: str) -> None:
    gpus, span = WIDE[wide]
    waited_s = started_s(name, gpus, span, NEVER) - CAME_S
    assert waited_s > 2 * (PATIENCE_S + EVERY_S + RUN_S)
