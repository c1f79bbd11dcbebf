"""Costs, weights, configurations, the objective and one construction, reckoned from the paper."""

from typing import Any

import numpy as np
import pytest

from lab.experiments.andreas.settings import ANDREAS
from policies.andreas import kernel
from policies.andreas.formulate import Formulated, formulate, weights
from policies.andreas.parameters import (
    PRIORITY_WEIGHTS,
    AndreasParameters,
    FirstPrincipleParameters,
)
from policies.andreas.policy import Andreas, FirstPrinciple
from policies.andreas.problem import Scratch
from policies.andreas.search import greedy
from policies.contract.invariants import check_plan
from policies.contract.plan import Plan
from policies.contract.snapshot import Snapshot
from policies.pricing.price_line import price_line
from tests.policies.andreas.published import (
    CONV_NET,
    EFFICIENT_NET,
    LSTM,
    TESLA,
    TURING,
    euro_per_hour,
    paper_snapshot,
)

PAPER = AndreasParameters(**ANDREAS)
# Watts of a whole node by GPUs in use, from the paper's table.
TESLA_W = {1: 530.0, 2: 700.0, 3: 870.0, 4: 1040.0}
TURING_W = {1: 400.0, 2: 480.0}


def formulated(snapshot: Snapshot, parameters: AndreasParameters = PAPER) -> Formulated:
    line = price_line(snapshot, parameters.default_price_per_kwh)
    rows = np.arange(len(snapshot.jobs))
    return formulate(snapshot, rows, parameters, line)


def where(plan: Plan) -> dict[int, tuple[int, int]]:
    """Node id and number of GPUs of every job that is placed anew."""
    return {
        act.job: (act.pieces[0].node, act.pieces[0].gpus.bit_count())
        for act in (*plan.starts, *plan.moves, *plan.resizes)
    }


def test_the_weights_are_ten_times_what_machines_cost_a_second() -> None:
    assert PRIORITY_WEIGHTS[0] == pytest.approx(10 * euro_per_hour(400) / 3600, rel=1e-4)
    assert PRIORITY_WEIGHTS[4] == pytest.approx(10 * euro_per_hour(700) / 3600, rel=1e-4)
    snapshot = paper_snapshot(
        [TESLA],
        [
            {"epochs": 1, "priority": 3},
            {"epochs": 1, "priority": 99},
            {"epochs": 1, "priority": 0},
            {"epochs": 1, "weight": 0.5, "priority": 3},
        ],
    )
    assert weights(snapshot, PAPER).tolist() == [0.00034885, 0.00044399, 0.00025371, 0.5]


def test_configurations_in_time_come_cheapest_first_the_others_fastest_first() -> None:
    """ConvNet, 160 epochs: T1 3286 s, T2 2849 s, U1 6601 s; EfficientNet, 120: 6195, 4948, 10679.

    Money: T1 530 W x 3286 s < T2 700 W x 2849 s < U1 400 W x 6601 s.
    """
    snapshot = paper_snapshot(
        [TESLA, TURING],
        [
            {"app": CONV_NET, "epochs": 160, "due_s": 7000},
            {"app": CONV_NET, "epochs": 160, "due_s": 3000},
            {"app": EFFICIENT_NET, "epochs": 120, "due_s": 10},
        ],
    )
    known = formulated(snapshot).configurations
    named = [(int(k), int(g)) for k, g in zip(known.ways.gpu_type, known.ways.gpus, strict=True)]
    tesla, two, turing = (TESLA, 1), (TESLA, 2), (TURING, 1)
    assert named == [tesla, two, turing, two, tesla, turing, two, tesla, turing]
    assert known.meeting.tolist() == [3, 1, 0]
    assert known.ways.run_s[:3] == pytest.approx([20.5382 * 160, 17.8042 * 160, 41.2582 * 160])


def test_pressure_orders_the_most_urgent_first() -> None:
    """Fastest on two TESLA: 17.8042 s x 160 = 2848.7 s; 30.5512 s x 120 = 3666.1 s."""
    snapshot = paper_snapshot(
        [TESLA],
        [
            {"app": CONV_NET, "epochs": 160, "due_s": 4000},
            {"app": LSTM, "epochs": 120, "due_s": 4000},
            {"app": LSTM, "epochs": 120},
        ],
    )
    found = formulated(snapshot)
    assert found.order().tolist() == [1, 0, 2]
    assert found.pressure[:2] == pytest.approx([17.8042 * 160 - 4000, 30.5512 * 120 - 4000])


def test_one_construction_and_its_objective() -> None:
    """A TESLA node and a TURING node, three jobs; the whole of it by hand.

    Jobs, on T1 / T2 / U1:
      1 LSTM 120 epochs:     5170.104 / 3666.144 / 13285.344 s, due in 5000 s: pressure -1333.9
      2 EfficientNet 120:    6194.652 / 4948.464 / 10678.572 s, due in 4000 s: pressure +948.5
      3 ConvNet 160:         3286.112 / 2848.672 /  6601.312 s, due in 9000 s: pressure -6151.3
    Order 2, 1, 3. Job 2 meets nothing: fastest is T2. Job 1 meets only T2. The TESLA node is full.
    Job 3: T1 and T2 are cheaper, but find no node; U1 it is.
    First finish F: job 1 after 3666.144 s. Energy: TESLA 1040 W, TURING 400 W for F.
    Late at F: nobody (job 2 is due after 4000 s).
    """
    jobs = [
        {"app": LSTM, "epochs": 120, "due_s": 5000, "weight": 0.0003},
        {"app": EFFICIENT_NET, "epochs": 120, "due_s": 4000, "weight": 0.0004},
        {"app": CONV_NET, "epochs": 160, "due_s": 9000, "weight": 0.0005},
    ]
    snapshot = paper_snapshot([TESLA, TURING], jobs)
    found = formulated(snapshot)
    schedule = greedy(found, found.order(), kernel)
    picked = found.configurations
    assert [(picked.ways.gpu_type[c], picked.ways.gpus[c]) for c in schedule.config_of] == [
        (TESLA, 2),
        (TESLA, 2),
        (TURING, 1),
    ]
    first_s = 30.5512 * 120
    energy = first_s / 3600 * (euro_per_hour(TESLA_W[4]) + euro_per_hour(TURING_W[1]))
    assert schedule.value == pytest.approx(energy, rel=1e-12)

    plan = Andreas(AndreasParameters(**{**ANDREAS, "iterations": 1})).plan(snapshot)
    assert check_plan(snapshot, plan) == []
    assert where(plan) == {1: (1, 2), 2: (1, 2), 3: (2, 1)}
    expected = {one.job: one for one in plan.expected}
    # Shares: of 1040 W two of four GPUs each, and the whole TURING node, to the jobs' own ends.
    shared_s, alone_s = first_s + 41.2372 * 120, 41.2582 * 160
    assert plan.shown["energy_cost"] == pytest.approx(
        shared_s / 3600 * euro_per_hour(1040) * 2 / 4 + alone_s / 3600 * euro_per_hour(TURING_W[1]),
        rel=1e-9,
    )
    late_s = 41.2372 * 120 - 4000
    assert expected[2].tardiness_cost == pytest.approx(0.0004 * late_s, rel=1e-9)


def test_chance_finds_what_is_cheaper_up_to_the_first_finish() -> None:
    """The jobs of the construction above in the order 2, 3, 1: job 3 gets one TESLA GPU, job 1 the
    last one. F is job 3's 3286.112 s; only the TESLA node is open, and nobody is late by then.
    """
    jobs = [
        {"app": LSTM, "epochs": 120, "due_s": 5000, "weight": 0.0003},
        {"app": EFFICIENT_NET, "epochs": 120, "due_s": 4000, "weight": 0.0004},
        {"app": CONV_NET, "epochs": 160, "due_s": 9000, "weight": 0.0005},
    ]
    plan = Andreas(PAPER).plan(paper_snapshot([TESLA, TURING], jobs))
    assert where(plan) == {1: (1, 1), 2: (1, 2), 3: (1, 1)}
    first_s = 20.5382 * 160
    assert plan.objective == pytest.approx(first_s / 3600 * euro_per_hour(1040), rel=1e-12)


def test_a_postponed_job_counts_a_hundredfold() -> None:
    """One TURING node, three jobs: two run, the least urgent is postponed.

    Each LSTM of 120 epochs takes 13285.344 s there. Due in 1, 2 and 3 s; F = 13285.344 s.
    """
    jobs = [{"app": LSTM, "epochs": 120, "due_s": due, "weight": 0.0003} for due in (1, 2, 3)]
    found = formulated(paper_snapshot([TURING], jobs))
    schedule = greedy(found, found.order(), kernel)
    assert (schedule.config_of >= 0).tolist() == [True, True, False]
    slowest_s = 110.7112 * 120
    energy = slowest_s / 3600 * euro_per_hour(TURING_W[2])
    late = 0.0003 * (slowest_s - 1) + 0.0003 * (slowest_s - 2)
    postponed = 100 * 0.0003 * (slowest_s - 3)
    assert schedule.value == pytest.approx(energy + late + postponed, rel=1e-12)


def test_the_proxy_weighs_slowest_time_by_cost_to_the_end() -> None:
    """One LSTM of 120 epochs, cheapest on two TESLA: 700 W for 3666.144 s, in time."""
    parameters = AndreasParameters(**{**ANDREAS, "objective": "proxy"})
    snapshot = paper_snapshot([TESLA, TURING], [{"epochs": 120, "due_s": 20_000}])
    schedule = greedy(found := formulated(snapshot, parameters), found.order(), kernel)
    cost = 30.5512 * 120 / 3600 * euro_per_hour(700)
    assert schedule.value == pytest.approx(-110.7112 * 120 / cost, rel=1e-12)


def test_best_fit_takes_the_fullest_node_that_still_fits() -> None:
    """Node 2 has one GPU free, node 3 two, node 1 four: they are filled in that order."""
    jobs: list[dict[str, Any]] = [
        {"epochs": 300, "on": (1, 2)},
        {"epochs": 300, "on": (1, 1)},
        {"epochs": 300, "on": (2, 2)},
        *({"app": CONV_NET, "epochs": 160, "due_s": 9000 + at} for at in range(4)),
    ]
    parameters = AndreasParameters(**{**ANDREAS, "changes_running": False, "post_process": False})
    plan = Andreas(parameters).plan(paper_snapshot([TESLA] * 3, jobs))
    assert [where(plan)[job] for job in (4, 5, 6, 7)] == [(2, 1), (3, 1), (3, 1), (1, 1)]


def test_post_processing_gives_idle_gpus_to_who_gains_the_most() -> None:
    """LSTM 120 gains 1504 s by a second TESLA, ConvNet 160 gains 437 s; both have room."""
    jobs = [
        {"app": CONV_NET, "epochs": 160, "due_s": 9000},
        {"app": LSTM, "epochs": 120, "due_s": 9000},
    ]
    snapshot = paper_snapshot([TESLA], jobs)
    assert where(Andreas(PAPER).plan(snapshot)) == {1: (1, 2), 2: (1, 2)}
    one_more = [*jobs, {"app": CONV_NET, "epochs": 160, "due_s": 9000}]
    plan = Andreas(PAPER).plan(paper_snapshot([TESLA], one_more))
    assert where(plan) == {1: (1, 1), 2: (1, 2), 3: (1, 1)}


@pytest.mark.parametrize(
    ("order", "exclusive", "expected"),
    [
        ("fifo", True, {1: (1, 1), 2: (2, 1)}),
        ("edf", True, {3: (1, 2), 2: (2, 1)}),
        ("ps", True, {2: (1, 1), 3: (2, 1)}),
        ("fifo", False, {1: (1, 1), 2: (1, 1), 3: (1, 2)}),
    ],
)
def test_first_principle_methods(
    order: str, exclusive: bool, expected: dict[int, tuple[int, int]]
) -> None:
    """Three jobs and two nodes; in the exclusive variant each node is one job's alone."""
    jobs = [
        {"app": CONV_NET, "epochs": 160, "due_s": 20_000, "weight": 0.1},
        {"app": CONV_NET, "epochs": 160, "due_s": 10_000, "weight": 0.3},
        {"app": CONV_NET, "epochs": 160, "due_s": 3_000, "weight": 0.2},
    ]
    parameters = FirstPrincipleParameters(energy="node", order=order, exclusive=exclusive)  # type: ignore[arg-type]
    snapshot = paper_snapshot([TESLA, TURING], jobs)
    plan = FirstPrinciple(parameters).plan(snapshot)
    assert check_plan(snapshot, plan) == []
    assert where(plan) == expected
    assert len(plan.waits) == 3 - len(expected)


def test_first_principle_methods_touch_nothing_that_runs() -> None:
    jobs: list[dict[str, Any]] = [
        {"epochs": 300, "on": (0, 1)},
        {"epochs": 10, "due_s": 0, "weight": 9.0},
    ]
    parameters = FirstPrincipleParameters(energy="node", order="ps", exclusive=True)
    plan = FirstPrinciple(parameters).plan(paper_snapshot([TESLA], jobs))
    assert where(plan) == {}
    assert plan.preempts == ()


def test_progress_scales_every_time_alike() -> None:
    half = formulated(paper_snapshot([TESLA, TURING], [{"epochs": 60}])).configurations
    whole = formulated(paper_snapshot([TESLA, TURING], [{"epochs": 120}])).configurations
    assert half.ways.run_s == pytest.approx(whole.ways.run_s / 2, rel=1e-12)


def test_a_running_job_loses_its_restart_by_another_configuration_only() -> None:
    jobs: list[dict[str, Any]] = [{"epochs": 120, "on": (0, 1), "restart_s": 100.0}]
    known = formulated(paper_snapshot([TESLA, TURING], jobs)).configurations
    at = {
        (int(k), int(g)): s
        for k, g, s in zip(known.ways.gpu_type, known.ways.gpus, known.ways.run_s, strict=True)
    }
    assert at[TESLA, 1] == pytest.approx(43.0842 * 120)
    assert at[TESLA, 2] == pytest.approx(30.5512 * 120 + 100)
    assert at[TURING, 1] == pytest.approx(110.7112 * 120 + 100)


def _changed(nodes: list[int], *jobs: dict[str, Any], **fields: Any) -> Plan:
    """Live, where stopping takes time, and without growing into idle GPUs."""
    parameters = AndreasParameters(**{**ANDREAS, "post_process": False, **fields})
    return Andreas(parameters).plan(paper_snapshot(nodes, jobs, hands_over=False))


def _cost(watts: float, seconds: float) -> float:
    return euro_per_hour(watts) * seconds / 3600


def test_a_resized_job_is_expected_to_pay_for_its_restart() -> None:
    """LSTM, 120 epochs, due in 3700 s: too late on one GPU, 66.144 s late on two."""
    job = {"epochs": 120, "on": (0, 1), "restart_s": 100.0, "due_s": 3700, "weight": 1.0}
    plan = _changed([TESLA], job)
    assert where(plan) == {1: (1, 2)}
    assert len(plan.resizes) == 1
    (expected,) = plan.expected
    assert expected.run_s == pytest.approx(30.5512 * 120 + 100)
    assert plan.shown["energy_cost"] == pytest.approx(_cost(TESLA_W[2], 3766.144))
    assert expected.tardiness_cost == pytest.approx(66.144)


def test_a_moved_job_is_expected_to_pay_for_its_restart() -> None:
    """ConvNet, 160 epochs, due in 5000 s: 6601 s on TURING, 3286 s on TESLA."""
    job = {"app": CONV_NET, "epochs": 160, "on": (0, 1), "due_s": 5000, "weight": 1.0}
    plan = _changed([TURING, TESLA], {**job, "restart_s": 100.0})
    assert where(plan) == {1: (2, 1)}
    assert len(plan.moves) == 1
    (expected,) = plan.expected
    assert expected.run_s == pytest.approx(20.5382 * 160 + 100)
    assert plan.shown["energy_cost"] == pytest.approx(_cost(TESLA_W[1], 3386.112))


def test_so_is_one_that_only_moves_to_share_a_node() -> None:
    """Two ConvNet of one GPU each on nodes of their own: together they draw 700 W, not 1060 W."""
    job = {"app": CONV_NET, "epochs": 160, "restart_s": 100.0}
    plan = _changed([TESLA, TESLA], {**job, "on": (0, 1)}, {**job, "on": (1, 1)})
    (moved,) = plan.moves
    (expected,) = plan.expected
    assert expected.job == moved.job
    assert expected.run_s == pytest.approx(20.5382 * 160 + 100)
    assert plan.shown["energy_cost"] == pytest.approx(_cost(TESLA_W[2] / 2, 3386.112))


def test_room_holds_the_watts_of_a_schedule() -> None:
    """Seven LSTM of no due date: fastest first, so two per TESLA GPU pair, then TURING."""
    snapshot = paper_snapshot([TESLA, TURING], [{"epochs": 120, "due_s": 1}] * 7)
    found = formulated(snapshot)
    room = Scratch.of(found.problem)
    kernel.construct(found.problem, room, found.order(), np.full(7, -1), 0.0)
    assert room.watts[0] == TESLA_W[4] + TURING_W[2]
