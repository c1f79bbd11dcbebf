"""The frontier: its worlds, who dominates a front, and one small window from end to end."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab.__main__ import main
from lab.experiments import frame
from lab.experiments.frontier import experiment, openb, philly, settings, two_windows
from lab.experiments.frontier.front import Spot, dominates, found, outside
from lab.experiments.frontier.gap import gap_cases
from lab.experiments.frontier.results import Grid, Range, found_in, misled_of, rows_of, sharing_of
from lab.experiments.frontier.settings import (
    DEFAULT_DIAL,
    DIAL,
    METHODS,
    OTHERS,
    WINDOWS,
    FrontierCase,
    setting_of,
)
from lab.experiments.frontier.world import FrontierWorld, begins_s, carbon, price, with_demands
from lab.experiments.powerflow import settings as powerflow_settings
from policies.pricing.curve import PriceCurve
from policies.registry import build, policy_names
from simulator.scenario.files import data_directory
from simulator.workload import Workload

pytestmark = pytest.mark.slow

needs_data = pytest.mark.skipif(not data_directory().is_dir(), reason="FAIRWATT_DATA is not there")
LINE = [Spot(100, 50), Spot(200, 30), Spot(150, 45), Spot(300, 20)]
"""The third lies above the line between its neighbours, and is of the front all the same."""


@pytest.mark.parametrize(
    ("cost", "other", "below", "beyond"),
    [
        (100, 50, False, False),  # on it
        (100, 49, True, False),
        (120, 47.9, True, False),  # between 50 and 45
        (120, 48.1, False, False),
        (200, 30, False, False),
        (250, 24.9, True, False),
        (250, 25.1, False, False),
        (90, 50, True, False),  # cheaper than the cheapest, and as fast
        (90, 40, True, False),
        (90, 50.1, False, True),  # cheaper and slower
        (300, 19, True, False),
        (310, 19, False, True),  # faster than the fastest, for more
        (310, 20, False, False),  # worse
        (400, 60, False, False),
    ],
)
def test_a_policy_dominates_where_it_lies_below_the_line(
    cost: float, other: float, below: bool, beyond: bool
) -> None:
    assert dominates(Spot(cost, other), LINE) is below
    assert outside(Spot(cost, other), LINE) is beyond


def test_points_of_the_dial_that_others_of_it_beat_do_not_count() -> None:
    assert not dominates(Spot(150, 41), [*LINE, Spot(140, 40)])
    assert found({"a": Spot(90, 10), "b": Spot(80, 99)}, LINE) == (["a"], ["b"])


def test_two_windows_print_what_they_found_and_nothing_of_the_machine() -> None:
    figures = {name: 0.5 for name, _ in two_windows.SHOWN.values()}
    records = {
        case.name(): {**figures, "energy_cost": 10.0 + at, "cpu_s": 99.0}
        for at, case in enumerate(two_windows.cases())
    }
    first, second = two_windows.findings(records).tables
    assert first.heading == "philly, window 2"
    assert [row[:2] for row in first.rows[1:3]] == [
        ["fifo-backfill", "10.00"],
        ["synergy", "11.00"],
    ]
    assert [row[0] for row in second.rows[1:]] == list(two_windows.COMPARED)
    assert not any("99" in cell for row in first.rows for cell in row)
    assert set(two_windows.COMPARED) < METHODS.keys()


def test_every_policy_takes_part_with_parameters_that_it_knows() -> None:
    assert {method.policy for method in METHODS.values()} == set(policy_names())
    for method in METHODS.values():
        build(method.policy, method.parameters)
    assert len(OTHERS) == 18
    assert len(DIAL) == 7
    assert build("fairwatt", {}).parameters.wait_price_per_h == 0.1  # type: ignore[attr-defined]
    assert METHODS[DEFAULT_DIAL].parameters == {"wait_price_per_h": 0.1}


def test_windows_begin_on_the_first_monday_of_every_month() -> None:
    days = [datetime.fromtimestamp(begins_s(window), UTC) for window in WINDOWS["philly"]]
    assert [day.day for day in days] == [4, 1, 1, 5, 3, 7, 5, 2, 6, 4, 1, 6]
    assert [day.month for day in days] == list(range(1, 13))
    assert {(day.weekday(), day.hour, day.year) for day in days} == {(0, 0, 2021)}


def plain_jobs(count: int) -> Workload:
    return Workload.sorted(
        submitted_s=np.arange(count) * 60.0, work=np.ones(count), gpus=np.ones(count)
    )


def test_half_of_the_jobs_are_due_within_the_factors() -> None:
    jobs = with_demands(plain_jobs(400), np.full(400, 1000.0), 3)
    due = np.isfinite(jobs.deadline_s)
    assert due.sum() == 200
    left_s = (jobs.deadline_s - jobs.submitted_s)[due]
    assert left_s.min() >= 1500
    assert left_s.max() <= 4000
    assert left_s.std() > 500
    assert np.unique(jobs.tenant).tolist() == [0, 1, 2, 3]
    assert np.unique(jobs.tardiness_weight[jobs.priority == 5]).tolist() == [0.00044399]
    again = with_demands(plain_jobs(400), np.full(400, 1000.0), 3)
    assert np.array_equal(again.deadline_s, jobs.deadline_s)
    other = with_demands(plain_jobs(400), np.full(400, 1000.0), 4)
    assert not np.array_equal(other.tenant, jobs.tenant)


def few_jobs(window: int) -> FrontierWorld:
    """Six jobs of some hours on four nodes of A100; tenants 0 to 3 in turn."""
    count = 6
    table = powerflow_settings.profiles()
    gpus = np.array([1, 4, 8, 2, 8, 1])
    profile = np.arange(count)
    speed = table.throughput[profile, 0, np.searchsorted(table.gpu_counts, gpus), -1]
    run_s = np.array([2.0, 3.0, 1.0, 4.0, 2.0, 1.0]) * 3600
    jobs = Workload.sorted(
        submitted_s=begins_s(window) + np.arange(count) * 900.0,
        work=run_s * speed,
        gpus=gpus,
        profile=profile,
    )
    jobs = with_demands(jobs, run_s, window).but(tenant=np.arange(count) % 4)
    return FrontierWorld(
        machines=powerflow_settings.machines(4),
        profiles=table,
        jobs=jobs,
        most_gpus=np.full(count, 32),
    )


def waves(window: int) -> PriceCurve:
    """0.05 and 0.15 by turns, twelve hours each."""
    from_s = int(begins_s(window))
    edges_s = from_s + np.arange(201) * 43_200
    return PriceCurve.piecewise(edges_s, [Decimal("0.05"), Decimal("0.15")] * 100)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Grid:
    monkeypatch.setitem(settings.WORLDS, "philly", few_jobs)
    monkeypatch.setattr(settings, "price", waves)
    monkeypatch.setattr(settings, "carbon", waves)
    flat = [case for case in gap_cases() if case.tariff == "flat"]
    return Grid({"philly": (0,)}, flat[:1])


@pytest.mark.usefixtures("small")
def test_elastic_policies_choose_and_the_others_get_what_was_asked() -> None:
    asked = few_jobs(0).jobs.gpus.tolist()
    for name, method in METHODS.items():
        jobs = setting_of(FrontierCase("philly", 0, name)).jobs
        expected = ([1] * 6, [32] * 6) if method.elastic else (asked, asked)
        assert (jobs.gpus.tolist(), jobs.max_gpus.tolist()) == expected
    assert setting_of(FrontierCase("philly", 0, "powerflow 0.4")).power_budget_w == pytest.approx(
        0.4 * 4 * (1000 + 8 * 400)
    )
    assert setting_of(FrontierCase("philly", 0, "fifo")).power_budget_w == np.inf


@pytest.mark.usefixtures("small")
def test_a_tenant_alone_has_its_own_jobs_and_a_quarter_of_the_nodes() -> None:
    setting = setting_of(FrontierCase("philly", 0, DEFAULT_DIAL, tenant=1))
    shared = few_jobs(0).jobs
    assert len(setting.machines.nodes) == 1
    assert setting.jobs.submitted_s.tolist() == shared.submitted_s[[1, 5]].tolist()
    assert setting.jobs.deadline_s.tolist() == shared.deadline_s[[1, 5]].tolist()
    assert (len(setting.tenants), setting.jobs.tenant.tolist()) == (1, [0, 0])


@pytest.mark.usefixtures("small")
def test_who_is_misled_sees_other_prices_and_work_and_pays_the_same_tariff() -> None:
    known = setting_of(FrontierCase("philly", 0, DEFAULT_DIAL))
    misled = setting_of(FrontierCase("philly", 0, DEFAULT_DIAL, misled=True))
    assert known.believed_price is None
    assert np.array_equal(known.believed_work, known.jobs.work)
    assert misled.price is not None
    assert misled.believed_price is not None
    assert np.array_equal(misled.price.prices, waves(0).prices)
    assert np.array_equal(misled.jobs.work, known.jobs.work)
    factor = misled.believed_work / misled.jobs.work
    assert factor.min() >= 0.5
    assert factor.max() <= 2.0
    hours_s = begins_s(0) + 3600.0 * np.arange(1000)
    noise = misled.believed_price.price_at(hours_s) / misled.price.price_at(hours_s)
    assert noise.std() == pytest.approx(0.3, rel=0.1)
    again = setting_of(FrontierCase("philly", 0, DEFAULT_DIAL, misled=True))
    assert np.array_equal(again.believed_work, misled.believed_work)


def made_up(grid: Grid) -> dict[str, dict[str, Any]]:
    """fairwatt costs 100 and takes 10 h, 110 and 9 h, ...; the others 200 and 20 h but two."""
    special = {"sjf": (105.0, 9.4), "gandiva": (90.0, 11.0)}
    records: dict[str, dict[str, Any]] = {}
    for case in grid.cases():
        if not isinstance(case, FrontierCase):
            records[case.name()] = {"gaps": [0.02, 0.04]}
            continue
        at = list(DIAL).index(case.method) if case.method in DIAL else -1
        cost, hours = special.get(case.method, (200.0, 20.0))
        if at >= 0:
            cost, hours = 100.0 + 10 * at, 10.0 - at
        cost += case.window + 6 * case.misled
        records[case.name()] = {
            "jobs": 5,
            "finished": 5,
            "energy_cost": cost,
            "jct_mean_s": hours * 3600 / (2 if case.tenant == 2 else 0.8),
            "tardiness_cost": hours,
            "total_cost": cost + hours,
            "tenant_jct_s": [hours * 3600] * 3 + [None],
        }
    return records


def test_rows_and_fronts_of_made_up_runs() -> None:
    grid = Grid({"philly": (0, 1, 2)}, [])
    rows = rows_of(made_up(grid), grid)
    fifo = next(row for row in rows if row["method"] == "fifo")
    assert fifo["energy_cost"] == Range(201, 200, 202)
    assert fifo["unfinished"] == 0
    # Between 101 for 10 h and 111 for 9 h lies 9.5 h at 106; gandiva is cheaper and slower.
    assert found_in(rows, "philly", "tardiness_cost") == (["sjf"], ["gandiva"])


def test_studies_of_made_up_runs() -> None:
    grid = Grid({"philly": (0, 1)}, [])
    records = made_up(grid)
    sharing = sharing_of(records, grid)
    # Alone: 0.8 of the time more, or half of it; tenant 3 has no jobs.
    assert sorted(set(sharing["ratios"].values())) == pytest.approx([0.8, 2.0])
    assert sharing["mean"] == pytest.approx(1.2)
    assert sharing["worst"] == pytest.approx(2.0)
    assert sharing["share_above_1"] == pytest.approx(1 / 3)
    # 120 + 8 h, once more a window later; 6 more each when misled.
    assert misled_of(records, grid) == {
        "perfect": pytest.approx(257),
        "misled": pytest.approx(269),
        "ratio": pytest.approx(269 / 257),
    }


def test_a_small_window_from_the_command_to_the_page(
    small: Grid, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(experiment, "EXPERIMENT", experiment.frontier(small))
    monkeypatch.setattr(
        frame,
        "run_all",
        lambda _d, cases, run, **_: {n: {**run(c), "cpu_s": 1.0} for n, c in cases.items()},
    )
    directory = tmp_path / "var" / "experiments" / "frontier"
    directory.mkdir(parents=True)
    assert main(["reproduce", "frontier"]) == 0
    results = json.loads((directory / "results.json").read_text())
    assert len(results["runs"]) == len(METHODS) + 4 + 1 + 1
    assert {row["method"] for row in results["rows"]} == set(METHODS)
    assert all(row["unfinished"] == 0 for row in results["rows"])
    assert all(row["energy_cost"]["mean"] > 0 for row in results["rows"])
    assert len(results["sharing"]["ratios"]) == 4
    assert results["gap"]["rounds"] > 0
    assert [bar["name"].split()[0] for bar in results["bars"]] == [
        "policies", "policies", "total", "mean",
    ]  # fmt: skip
    assert (directory / "report.html").read_text().count("<svg") == 3
    for name in ("jct", "tardiness", "total"):
        assert (directory / f"philly_{name}.png").read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "fairwatt 0.1" in printed
    assert "policies that dominate fairwatt by energy cost and JCT" in printed


@needs_data
def test_philly_weeks_are_moved_into_the_year() -> None:
    for window in (0, 11):
        jobs = philly.world(window).jobs
        assert 70 < len(jobs) < 200
        assert (jobs.submitted_s >= begins_s(window)).all()
        assert (jobs.submitted_s < begins_s(window) + 7 * 86_400).all()
    first, again = (philly.world(window).jobs for window in (0, 10))
    assert np.allclose(first.submitted_s - begins_s(0), again.submitted_s - begins_s(10))
    assert not np.array_equal(first.profile, again.profile)


@needs_data
def test_openb_is_two_types_at_the_load() -> None:
    there = openb.machines()
    kinds = {
        (there.gpu_types.name[kind], gpus)
        for kind, gpus in zip(there.nodes.gpu_type, there.nodes.gpus.tolist(), strict=True)
    }
    assert kinds == {("V100", 8), ("V100", 4), ("P100", 2)}
    assert (len(there.nodes), there.gpus) == (24, 82)
    world = openb.world(4)
    jobs, table = world.jobs, world.profiles
    assert len(table.id) == 60
    assert not np.isnan(table.throughput).any()
    at = np.searchsorted(table.gpu_counts, jobs.gpus)
    on_v100, on_p100 = (jobs.work / table.throughput[jobs.profile, k, at, -1] for k in (0, 1))
    assert (on_v100 > 0).all()
    # Nobody asks for more than was measured.
    assert (jobs.gpus <= world.most_gpus).all()
    assert set(world.most_gpus.tolist()) == {1, 8}
    asked = (jobs.gpus * np.minimum(on_v100, on_p100)).sum() / (82 * 3 * 86_400)
    assert asked <= 0.75
    assert (jobs.gpus * np.maximum(on_v100, on_p100)).sum() / (82 * 3 * 86_400) >= 0.7
    assert jobs.submitted_s.max() <= begins_s(4) + 3 * 86_400


@needs_data
def test_every_hour_of_every_window_has_a_price() -> None:
    for window in WINDOWS["philly"]:
        assert not np.isnan(price(window).prices).any()
        assert not np.isnan(carbon(window).prices).any()
        # The day before says what unpublished hours may cost.
        assert price(window).start_s == begins_s(window) - 86_400
    # Lines of the two years' files, in USD per MWh.
    assert float(price(0).price_at(begins_s(0) + 100)) == pytest.approx(0.029177103)
    in_january_s = datetime(2022, 1, 10, 5, tzinfo=UTC).timestamp()
    assert float(price(11).price_at(in_january_s)) == pytest.approx(0.2312022738)
