"""What a job's priority does: of two that are equal otherwise the higher one starts, everywhere."""

import re
from pathlib import Path
from typing import Any

import pytest

from policies.registry import build, policy_names
from tests.policies.worlds import NOW_S, Job, Node, World, profiles_of, queued, running

PROFILES = profiles_of([[[1.0], [1.9]]], [[[300.0]] * 2], counts=(1, 2), clocks=(1000,))
QUICK: dict[str, dict[str, Any]] = {"andreas": {"iterations": 50}}
SAME: list[dict[str, Any]] = [
    {},
    {"est_run_s": 3600.0, "est_total_s": 3600.0, "deadline_s": NOW_S + 7200},
    {"profile": 0, "work_left": 3600.0},
    {"profile": 0, "work_left": 3600.0, "deadline_s": NOW_S - 60, "tenant": 1},
]


def one_of(*priorities: int, **columns: Any) -> tuple[World, int]:
    """Jobs for the one GPU that is free, and the row of the highest priority."""
    jobs: list[Job] = [
        queued(1, submitted_s=NOW_S - 60, priority=priority, **columns) for priority in priorities
    ]
    world = World(
        nodes=[Node(gpus=2)],
        jobs=[running((0, 0b01), preemptible=False), *jobs],
        profiles=PROFILES,
        quotas=[-1, -1],
    )
    return world, 1 + priorities.index(max(priorities))


@pytest.mark.parametrize("columns", SAME)
@pytest.mark.parametrize("priorities", [(50, 95), (95, 50), (0, 1), (3, 2), (50, 50, 51)])
@pytest.mark.parametrize("name", policy_names())
def test_of_equal_jobs_the_one_of_higher_priority_starts(
    name: str, priorities: tuple[int, ...], columns: dict[str, Any]
) -> None:
    world, highest = one_of(*priorities, **columns)
    plan = build(name, QUICK.get(name, {})).plan(world.snapshot())
    assert [start.job - 1000 for start in plan.starts] == [highest]


def test_what_priority_does_is_written_down_for_every_policy() -> None:
    text = (Path(__file__).parents[2] / "docs" / "policies.md").read_text()
    table = text.split("| policy | priority |")[1].split("\n\n")[0]
    assert tuple(re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE)) == policy_names()


def goes_before_an_hour(run_s: float, priority: int, **parameters: float) -> bool:
    """Whether such a job starts before one of an hour and priority 50."""
    jobs = [
        queued(1, est_run_s=run_s, priority=priority, submitted_s=NOW_S),
        queued(1, est_run_s=3600.0, priority=50, submitted_s=NOW_S),
    ]
    snapshot = World(nodes=[Node(gpus=1)], jobs=jobs).snapshot()
    (start,) = build("fairwatt", {"power_off": False, **parameters}).plan(snapshot).starts
    return start.job == 1000


@pytest.mark.parametrize(
    ("priority", "step", "worth"),
    [(75, 25, 2), (100, 25, 4), (25, 25, 0.5), (100, 50, 2), (100, 0, 1)],
)
def test_in_fairwatt_steps_of_priority_double_what_waiting_is_worth(
    priority: int, step: float, worth: float
) -> None:
    """Work that is worth twice as much may take twice as long and still go first."""
    for share in (0.99, 1.01):
        first = goes_before_an_hour(share * worth * 3600, priority, priority_step=step)
        assert first == (share < 1)
