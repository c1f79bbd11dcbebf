"""The ANDREAS experiment: its settings, what a world without stopping costs allows, its table."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab.experiments import frame
from lab.experiments.andreas.experiment import EXPERIMENT
from lab.experiments.andreas.settings import (
    ANDREAS,
    APPS,
    PACE,
    AndreasCase,
    machines,
    setting_of,
    workload,
)
from lab.experiments.andreas.tariff import PRICE_PER_KWH, price_of
from policies.contract.invariants import check_plan
from policies.contract.plan import Move, Piece, Plan, Preempt, Resize, Start
from policies.registry import build
from simulator.costs import Costs
from simulator.energy import idle_stretches
from simulator.engine import Engine, Outcome, Pace
from simulator.measure import measure
from simulator.prices import PriceView
from simulator.scenario.files import data_directory
from simulator.world import World

pytestmark = pytest.mark.slow

needs_data = pytest.mark.skipif(not data_directory().is_dir(), reason="FAIRWATT_DATA is not there")


def run(case: AndreasCase, costs: Costs | None = None, pace: Pace = PACE, **given: Any) -> Outcome:
    setting = setting_of(case)
    setting = setting if costs is None else replace(setting, costs=costs)
    name, parameters = case.policy()
    policy = build(name, {**parameters, **given})
    return Engine(setting, policy, replace(pace, check_plans=True)).run()


def test_nodes_alternate_and_draw_what_the_paper_says() -> None:
    nodes = machines(10).nodes
    assert nodes.gpus.tolist() == [4, 2] * 5
    assert nodes.gpu_type.tolist() == [0, 1] * 5
    assert nodes.host_idle_w.tolist() == nodes.host_peak_w.tolist() == [360, 320] * 5


def test_jobs_are_drawn_as_the_paper_says() -> None:
    jobs = workload(10, 0)
    assert len(jobs) == 100
    assert jobs.submitted_s[0] == 0
    assert (np.diff(jobs.submitted_s) >= 0).all()
    for at, app in enumerate(APPS.values()):
        mine = jobs.profile == at
        assert set(jobs.work[mine].tolist()) <= set(app.epochs)
        spent_s = (jobs.deadline_s - jobs.submitted_s)[mine] / jobs.work[mine]
        assert (spent_s >= app.two_tesla_s).all()
        assert (spent_s <= app.turing_s).all()
    assert set(jobs.priority.tolist()) == {1, 2, 3, 4, 5}
    assert not np.array_equal(jobs.work, workload(10, 1).work)
    assert np.array_equal(jobs.submitted_s, workload(10, 0).submitted_s)


def test_gaps_alternate_between_high_and_low_rates() -> None:
    """Ten jobs at a time: mean gaps of 1 and of 4, whatever the scale."""
    gaps_s = np.diff(workload(100, 0).submitted_s, prepend=0.0).reshape(-1, 10)
    ratio = gaps_s[1::2].mean() / gaps_s[::2].mean()
    assert 3.2 < ratio < 5.0


def test_a_plan_may_hand_gpus_over_only_where_that_is_free() -> None:
    """Job 0 gives its GPU to job 1 in the same plan, and job 0 moves to where job 2 was."""
    setting = setting_of(AndreasCase(10, 0, "andreas"))
    jobs = setting.jobs.rows(np.arange(3)).but(submitted_s=np.zeros(3))
    setting = replace(setting, jobs=jobs, believed_work=jobs.work)
    world = World(setting)
    world.advance(0.0)
    world.apply(Plan(starts=(Start(0, (Piece(0, 0b1, 0, 0),)), Start(2, (Piece(1, 0b1, 0, 0),)))))
    world.now_s = 100.0
    plan = Plan(
        starts=(Start(1, (Piece(0, 0b1, 0, 0),)),),
        moves=(Move(0, (Piece(1, 0b1, 0, 0),)),),
        preempts=(Preempt(2, 0, 0.0),),
    )
    snapshot = world.snapshot(PriceView(setting).at(100.0), setting.believed_profiles)
    assert check_plan(snapshot, plan) == []
    codes = {broken.code for broken in check_plan(replace(snapshot, hands_over=False), plan)}
    assert codes == {"gpu_not_free", "claimant"}
    world.apply(plan)
    assert world.holdings.of_job == {0: ((1, 1, 0, 0),), 1: ((0, 1, 0, 0),)}
    assert not world.changed
    twice = Plan(resizes=(Resize(0, (Piece(0, 0b11, 0, 0),)),))
    snapshot = world.snapshot(PriceView(setting).at(100.0), setting.believed_profiles)
    codes = {broken.code for broken in check_plan(snapshot, twice)}
    assert codes == {"no_entry", "gpu_not_free"}


def test_hands_change_only_where_stopping_takes_no_time() -> None:
    with pytest.raises(ValueError, match="takes no time"):
        Costs(hands_over=True, checkpoint_s=1.0)


def test_energy_is_that_of_nodes_in_use() -> None:
    """Every watt and second of a run, added up from the log by the paper's table."""
    outcome = run(AndreasCase(10, 0, "fifo exclusive"))
    watts = {(0, 1): 530, (0, 2): 700, (1, 1): 400}
    joules = 0.0
    for stretch, pieces in zip(outcome.log.stretches, outcome.log.pieces, strict=True):
        ((node, mask, _, _),) = pieces
        joules += watts[node % 2, mask.bit_count()] * (stretch[2] - stretch[1])
    cost = joules * 1.33 / 3.6e6 * 0.17168313
    assert measure(outcome).summary["energy_cost"] == pytest.approx(cost, rel=1e-9)
    idle = idle_stretches(outcome)
    assert (idle.to_s > idle.from_s).all()


def test_exclusive_nodes_have_one_job_and_nobody_is_changed() -> None:
    for method in ("edf exclusive", "ps shared"):
        outcome = run(AndreasCase(10, 1, method))
        summary = measure(outcome).summary
        assert summary["finished"] == 100
        assert summary["preemptions"] == summary["migrations"] == 0
        assert len(outcome.log.stretches) == 100


@needs_data
def test_the_time_of_use_is_that_of_a_summer_week_at_the_flat_mean() -> None:
    """It begins on Monday at midnight: off-peak until 8:30, the peak from noon until 18:00."""
    curve = price_of("time-of-use")
    off, half, peak = 0.08981, 0.1196, 0.16299
    hours = np.array([0.0, 8.49, 8.5, 12.0, 17.99, 18.0, 21.5, 24 * 5 + 14])
    seen = curve.price_at(hours * 3600)
    week = 5 * (11 * off + 7 * half + 6 * peak) + 48 * off
    charges = np.array([off, off, half, peak, peak, half, off, off])
    assert seen == pytest.approx(charges * float(PRICE_PER_KWH) * 168 / week)
    assert float(curve.integral(0, 7 * 86_400)) == pytest.approx(float(PRICE_PER_KWH) * 604_800)
    assert price_of("flat").price_at(5.0) == float(PRICE_PER_KWH)


@needs_data
@pytest.mark.parametrize("tariff", ["flat", "time-of-use"])
def test_fairwatt_finishes_everything_in_the_same_worlds(tariff: Any) -> None:
    case = AndreasCase(10, 0, "fairwatt", tariff=tariff)
    summary = measure(run(case)).summary
    assert summary["finished"] == 100
    assert setting_of(case).price is price_of(tariff)


def test_andreas_costs_less_than_first_principles() -> None:
    totals = {}
    for method in ("andreas", "fifo exclusive", "fifo shared"):
        given: dict[str, Any] = {"iterations": 50} if method == "andreas" else {}
        summary = measure(run(AndreasCase(10, 0, method), **given)).summary
        assert summary["finished"] == 100
        totals[method] = summary["energy_cost"] + summary["tardiness_cost"]
    assert totals["andreas"] < totals["fifo shared"] < totals["fifo exclusive"]


@pytest.mark.parametrize("given", [{}, {"min_run_s": 0.0, "switch_gain": 0.0, "analyzer": False}])
def test_where_stopping_costs_time_rounds_settle_and_all_jobs_end(given: dict[str, Any]) -> None:
    costs = Costs(restart_s=60.0, checkpoint_s=10.0)
    plain = {"switch_gain": 0.05, "min_run_s": 60.0, "analyzer": True}
    outcome = run(AndreasCase(10, 0, "andreas"), costs, **{"iterations": 30, **plain, **given})
    assert measure(outcome).summary["finished"] == 100


def test_the_analyzer_saves_moves_and_changes_no_cost() -> None:
    moves = {}
    for analyzer in (False, True):
        outcome = run(AndreasCase(10, 0, "andreas"), iterations=20, analyzer=analyzer)
        summary = measure(outcome).summary
        moves[analyzer] = (summary["migrations"], round(summary["energy_cost"], 9))
    assert moves[True][0] < moves[False][0]
    assert moves[True][1] == moves[False][1]


def test_rounds_come_at_the_latest_after_so_long() -> None:
    """One job of 3286 s and more, alone: a round at 0 and every 1000 s while it runs."""
    setting = setting_of(AndreasCase(10, 0, "andreas"))
    jobs = setting.jobs.rows(np.arange(1)).but(submitted_s=np.zeros(1))
    setting = replace(setting, jobs=jobs, believed_work=jobs.work)
    policy = build("andreas", {**ANDREAS, "iterations": 1})
    outcome = Engine(setting, policy, Pace(at_latest_s=1000.0)).run()
    assert outcome.rounds == 1 + int(outcome.finished_s[0] // 1000)


def test_the_experiment_writes_its_table_and_bars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def record(case: AndreasCase) -> dict[str, Any]:
        total = 60.0 if case.method == "andreas" else 100.0 + case.instance
        if case.method == "fairwatt":
            total = 57.0 if case.tariff == "flat" else 51.0 + case.instance
        costs = {"total": total, "energy": total / 2, "tardiness": total / 2}
        return {**costs, "call_ms": 10.0, "series": None, "cpu_s": 1.0}

    monkeypatch.setattr(
        frame, "run_all", lambda _d, cases, _r, **_: {n: record(c) for n, c in cases.items()}
    )
    frame.reproduce(EXPERIMENT, tmp_path, processes=1)
    results = json.loads((tmp_path / "results.json").read_text())
    assert len(results["runs"]) == 4 * 3 * (5 + 6 + 1 + 1 + 5)
    assert all(bar["holds"] for bar in results["bars"])
    flat, tou = [bar["value"]["mean"] for bar in results["bars"][-2:]]
    assert (flat, tou) == (pytest.approx(57 / 60), pytest.approx(52 / 60))
    beside = next(r for r in results["fairwatt"] if r["method"] == "fairwatt, time-of-use")
    assert beside["total"] == pytest.approx(52)
    assert beside["reduction_high"] == pytest.approx(9 / 60)
    row = next(r for r in results["rows"] if r["method"] == "fifo exclusive")
    assert row["reduction"] == pytest.approx((0.4 + 41 / 101 + 42 / 102) / 3)
    assert (row["reduction_low"], row["reduction_high"]) == (0.4, pytest.approx(42 / 102))
    assert "10 fifo exclusive" in capsys.readouterr().out
