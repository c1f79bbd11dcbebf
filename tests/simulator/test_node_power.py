"""Simulated nodes go off with the operator's leave only, and on for whoever waits for them."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from policies.contract.snapshot import NodeState, NodeTable
from policies.registry import build
from simulator.engine import Engine, Outcome, Pace
from simulator.machines import Machines
from simulator.setting import Setting
from tests.simulator.scripted import jobs_of, setting_of

IDLE_S = 300.0


def run(policy: str, setting: Setting) -> Outcome:
    """Every minute, and every plan is checked."""
    return Engine(setting, build(policy, {}), Pace(interval_s=60.0, check_plans=True)).run()


def with_states(machines: Machines, state: NodeState) -> Machines:
    columns = dict(machines.nodes.columns())
    states = np.full(len(machines.nodes), state)
    return dataclasses.replace(machines, nodes=NodeTable.of(**{**columns, "state": states}))


def changes(outcome: Outcome, state: NodeState) -> list[tuple[float, int]]:
    return [(at_s, node) for at_s, node, to in outcome.log.node_changes if to == state]


def switching(**fields: Any) -> Setting:
    """A job of ten minutes on one node, another of an hour; then one that needs both nodes."""
    jobs = jobs_of((0, 3600, 4), (0, 600, 4), (7200, 60, 8))
    return dataclasses.replace(setting_of(jobs, boot_s=50), **fields)


@pytest.mark.parametrize("policy", ["fifo", "fairwatt", "powerflow", "synergy", "andreas"])
def test_a_cluster_that_is_off_wakes_for_its_queue(policy: str) -> None:
    setting = setting_of(jobs_of((0, 10, 4), (0, 10, 4)), boot_s=50)
    dark = dataclasses.replace(setting, machines=with_states(setting.machines, NodeState.OFF))
    outcome = run(policy, dark)
    assert not np.isnan(outcome.finished_s).any()
    assert (outcome.first_start_s >= 50).all()


def test_without_leave_nothing_goes_off() -> None:
    assert changes(run("fairwatt", switching()), NodeState.OFF) == []


def test_with_leave_a_node_goes_off_once_it_has_idled_long_enough() -> None:
    outcome = run("fairwatt", switching(power_off=True, min_idle_s=IDLE_S))
    (first_s, node), *_ = changes(outcome, NodeState.OFF)
    finished_s = outcome.finished_s[1]
    assert finished_s + IDLE_S <= first_s < finished_s + IDLE_S + 60
    assert not np.isnan(outcome.finished_s).any(), "what went off came on again"
    assert (NodeState.BOOTING, node) in [(to, n) for _, n, to in outcome.log.node_changes]
