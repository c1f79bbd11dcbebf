"""The grid of the experiment, which of its cells are one run, and what its bars say."""

from typing import Any

import pytest

from lab.experiments.analysim import experiment
from lab.experiments.analysim.grid import LOADS, SEEDS, grid
from lab.experiments.analysim.settings import AnalysimCase, setting_of
from policies.contract.snapshot import Span
from policies.registry import build
from simulator.scenario.files import data_directory

pytestmark = pytest.mark.slow

needs_data = pytest.mark.skipif(not data_directory().is_dir(), reason="FAIRWATT_DATA is not there")
PLAIN = AnalysimCase("A", "fifo", "consolidate", False, False, "static", 1.0, 0)


def case(**changes: Any) -> AnalysimCase:
    return AnalysimCase(**{name: getattr(PLAIN, name) for name in AnalysimCase.__slots__} | changes)


def test_the_grid_has_every_cell_of_the_experiment() -> None:
    cells = set(grid())
    nominal = 4 * 3 * 2 * 2
    on_a = [c for c in cells if c.cluster == "A" and c.seed == SEEDS[0]]
    assert len(on_a) == nominal * 2 * len(LOADS)
    assert sum(c.cluster == "B" for c in cells) == nominal
    assert sum(c.seed == SEEDS[-1] for c in cells) == 4 * 2 * 2


def test_equal_rules_are_one_run() -> None:
    assert case(policy="srtf").settled() == case(policy="sjf").settled()
    assert case(policy="sjf", preemption=True).settled().policy == "srtf"
    assert case(placement="random", migration=True).settled() == case(placement="random")
    assert case(migration=True).settled() != PLAIN


def test_every_case_is_a_policy_of_the_registry() -> None:
    for one in grid():
        build(one.settled().policy, one.settled().parameters())


def test_names_tell_cases_apart() -> None:
    assert len({one.name() for one in grid()}) == len(grid())


@needs_data
def test_cluster_a_is_as_the_experiment_says() -> None:
    setting = setting_of(PLAIN)
    assert setting.machines.gpus == 1024
    assert len(setting.machines.partitions) == 6
    offered = (setting.jobs.gpus * setting.jobs.work).sum() / (1024 * 28 * 86_400)
    assert offered == pytest.approx(1.0, rel=0.02)
    assert set(setting.jobs.span[setting.jobs.gpus <= 8].tolist()) == {Span.NODE}
    assert set(setting_of(case(placement="random")).jobs.span.tolist()) == {Span.ANY}


def made_up_records() -> dict[str, dict[str, Any]]:
    """Preemption halves completion times, migration takes a fifth off fragmentation."""
    records = {}
    for one in grid():
        run = one.settled()
        jct_s = (50 if run.preemption else 100) + run.seed
        fragmentation = (0.4 if run.migration else 0.5) + run.seed / 1000
        figures = {"jct_mean_s": jct_s, "fragmentation": fragmentation, "useless_free_gpus": 5.0}
        records[run.name()] = {
            "summary": {**figures, "wait_mean_s": 1.0},
            "large_wait_s": 9.0,
            "partitions": {},
            "series": None,
        }
    return records


def test_bars_hold_when_the_interval_excludes_zero() -> None:
    preemption, migration, useless = experiment.bars_of(made_up_records())
    assert preemption.holds
    assert preemption.value.mean == pytest.approx(0.5, abs=0.02)
    assert migration.holds
    assert migration.value.mean == pytest.approx(0.2, abs=0.01)
    assert not useless.holds


def test_effects_are_factors() -> None:
    effects = experiment.effects_of(made_up_records())
    first = next(e for e in effects if e["switch"] == "preemption" and e["policy"] == "las")
    assert first["jct_mean_s"]["mean"] == pytest.approx(2, abs=0.05)
    assert first["large_wait_s"]["mean"] == 1
