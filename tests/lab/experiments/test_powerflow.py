"""The PowerFlow-style experiment: its curve by hand, its worlds, and budgets kept while running."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab.experiments import frame
from lab.experiments.powerflow import experiment, settings
from lab.experiments.powerflow.curve import CurvePoint, front, jct_at, ratio, spread
from lab.experiments.powerflow.settings import PowerflowCase, most_w, setting_of, workload
from policies.registry import build
from simulator.engine import Engine, Pace
from simulator.measure import measure
from simulator.workload import Workload
from tests.lab.experiments.test_analysim import needs_data

pytestmark = pytest.mark.slow

SWEPT = [
    CurvePoint(30.0, 100.0),
    CurvePoint(20.0, 200.0),
    CurvePoint(25.0, 220.0),
    CurvePoint(40.0, 90.0),
]


def test_the_front_leaves_out_what_is_beaten_in_both() -> None:
    assert front(SWEPT) == [
        CurvePoint(20.0, 200.0),
        CurvePoint(30.0, 100.0),
        CurvePoint(40.0, 90.0),
    ]


def test_between_points_the_curve_is_straight_and_beyond_its_end_flat() -> None:
    assert jct_at(SWEPT, 25.0) == 150.0
    assert jct_at(SWEPT, 99.0) == 90.0
    assert math.isnan(jct_at(SWEPT, 19.0))
    assert ratio(SWEPT, CurvePoint(25.0, 300.0)) == 2.0


def test_a_spread_counts_the_ratios_there_are() -> None:
    assert spread([2.0, math.nan, 4.0, 3.0]) == (2.0, 3.0, 4.0, 3)
    assert spread([math.nan]).known == 0


def test_bars_are_about_the_largest_ratio_of_every_baseline() -> None:
    spreads = {"a": spread([1.0, 4.0]), "b": spread([1.2, 1.6]), "c": spread([math.nan])}
    assert [(bar.value.mean, bar.holds) for bar in experiment.bars_of(spreads)] == [
        (4.0, True),
        (1.6, True),
    ]


def some_jobs() -> Workload:
    """Two days of jobs of one to sixteen GPUs, more than the cluster can take at a time."""
    random = np.random.default_rng(5)
    count = 60
    gpus = random.choice([1, 2, 4, 8, 16], count)
    return Workload.sorted(
        submitted_s=np.sort(random.uniform(0, 86_400, count)),
        work=random.uniform(1e4, 4e5, count),
        gpus=gpus,
        profile=random.integers(0, 17, count),
    )


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "workload", lambda window: some_jobs())


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("ablation", ["", "no power-off", "clock fixed", "no buddy"])
def test_power_stays_within_the_budget_from_beginning_to_end(ablation: Any) -> None:
    case = PowerflowCase(0, eta=0.4, ablation=ablation)
    name, parameters = case.policy()
    pace = Pace(interval_s=1800.0, on_events=True, check_plans=True)
    outcome = Engine(setting_of(case), build(name, parameters), pace).run()
    assert not np.isnan(outcome.finished_s).any()
    watts = measure(outcome).drawn.watts
    # Every world begins with all its nodes on.
    assert watts[1:].max() <= 0.4 * most_w() * (1 + 1e-6)
    # The budget is used, not only kept.
    assert np.percentile(watts, 90) > 0.35 * most_w()


@pytest.mark.usefixtures("small")
def test_no_stretch_of_the_horizon_uses_more_than_its_joules() -> None:
    horizon_s, mean_w = 6 * 3600.0, 0.4 * most_w()
    rules = {"energy_budget_j": mean_w * horizon_s, "energy_horizon_s": horizon_s}
    outcome = Engine(setting_of(PowerflowCase(0, eta=1.0)), build("powerflow", rules), Pace()).run()
    assert not np.isnan(outcome.finished_s).any()
    drawn = measure(outcome).drawn
    # Every world begins with all its nodes on.
    used_j = np.cumsum(np.r_[0.0, (drawn.watts * np.diff(drawn.edges_s))[1:]])
    begins_s = drawn.edges_s[1:]
    ends_j = np.interp(begins_s + horizon_s, begins_s, used_j)
    assert (ends_j - used_j).max() <= rules["energy_budget_j"] * (1 + 1e-6)
    assert (ends_j - used_j).max() > 0.9 * rules["energy_budget_j"]


@pytest.mark.usefixtures("small")
def test_more_power_means_shorter_jobs_and_more_energy() -> None:
    found = [measured(PowerflowCase(0, eta=eta)) for eta in (0.3, 0.6)]
    assert found[0].jct_s > found[1].jct_s
    assert found[0].energy_kwh < found[1].energy_kwh


def measured(case: PowerflowCase) -> CurvePoint:
    name, parameters = case.policy()
    outcome = Engine(setting_of(case), build(name, parameters), Pace(interval_s=1800.0)).run()
    summary = measure(outcome).summary
    return CurvePoint(summary["energy_kwh"], summary["jct_mean_s"])


def test_rigid_policies_get_the_asked_gpus_and_elastic_ones_choose(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settings, "workload", lambda window: some_jobs())
    asked = some_jobs().gpus.tolist()
    for case in (
        PowerflowCase(0, baseline="FIFO"),
        PowerflowCase(0, eta=1.0, ablation="GPU count fixed"),
    ):
        jobs = setting_of(case).jobs
        assert jobs.gpus.tolist() == jobs.max_gpus.tolist() == asked
    for case in (
        PowerflowCase(0, baseline="AFS-style"),
        PowerflowCase(0, eta=1.0),
        PowerflowCase(0, wait_price_per_h=1.0),
    ):
        jobs = setting_of(case).jobs
        assert set(jobs.gpus.tolist()) == {1}
        assert set(jobs.max_gpus.tolist()) == {64}
        assert jobs.work.tolist() == some_jobs().work.tolist()
    assert setting_of(PowerflowCase(0, wait_price_per_h=1.0)).power_budget_w == math.inf
    assert setting_of(PowerflowCase(0, eta=0.5)).power_budget_w == most_w() / 2


def test_cases_are_told_apart_by_their_names() -> None:
    cases = experiment.grid()
    assert len({case.name() for case in cases}) == len(cases) == 5 * (8 + 7 + 4 * 3 + 6)


@needs_data
def test_windows_hold_jobs_that_gain_from_what_they_asked_for() -> None:
    table = settings.profiles()
    for window in settings.WINDOWS:
        jobs = workload(window)
        assert 150 < len(jobs) < 400
        at = np.searchsorted(table.gpu_counts, jobs.gpus)
        speed = table.throughput[:, 0, :, -1]
        several = jobs.gpus > 1
        assert (speed[jobs.profile, at][several] > speed[jobs.profile, at - 1][several]).all()


@pytest.mark.usefixtures("small")
def test_reproduce_writes_results_and_a_page_with_the_curves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shortcut(case: PowerflowCase) -> dict[str, Any]:
        jct_s = 5000.0 if case.baseline else 3000.0 / (case.eta or 1.5)
        summary = dict.fromkeys(
            ("jct_p99_s", "makespan_s", "gpu_allocation", "preemptions", "migrations"), 1.0
        )
        energy_kwh = 900.0 if case.baseline else 1000.0 * (case.eta or 0.5)
        return {
            "summary": {**summary, "jct_mean_s": jct_s, "energy_kwh": energy_kwh},
            "peak_w": 1.0,
            "cpu_s": 0.0,
        }

    monkeypatch.setattr(
        frame,
        "run_all",
        lambda directory, runs, run, **_: {name: shortcut(case) for name, case in runs.items()},
    )
    monkeypatch.setattr(experiment, "workload", lambda window: some_jobs())
    frame.reproduce(experiment.EXPERIMENT, tmp_path, processes=1)
    results = json.loads((tmp_path / "results.json").read_text())
    # 5000 s against 3000 / 0.9 s, in every window and for every baseline.
    assert [(bar["value"]["mean"], bar["holds"]) for bar in results["bars"]] == [
        (pytest.approx(1.5), False),
        (pytest.approx(1.5), False),
        # fairwatt needs 2000 s and half of the energy: etas of 0.3 and 0.4 spend less, the others
        # take 6000, 5000, 3000 / 0.7, 3750, 3000 / 0.9 and 3000 s.
        (pytest.approx((3000 / 0.7 + 3750) / 2 / 2000), True),
    ]
    assert results["fairwatt"]["at_powerflow_energy"]["0"][:2] == [None, None]
    assert results["fairwatt"]["at_fairwatt_energy"]["0"][0] == pytest.approx(3.0)
    fifo = next(row for row in results["ratios"] if row["baseline"] == "FIFO")
    assert fifo["median"] == pytest.approx(5000.0 / (3000.0 / 0.9))
    page = (tmp_path / "report.html").read_text()
    assert page.count("<svg") == 5
    assert replace(PowerflowCase(0), eta=0.3).name() in page
