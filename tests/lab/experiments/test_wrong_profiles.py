"""The study of wrong profiles: how they are wrong, what is compared, and its bar."""

import math

import numpy as np
import pytest

from lab.experiments.frame import Records
from lab.experiments.powerflow import settings, wrong_profiles
from lab.experiments.powerflow.wrong_profiles import (
    CAPPED,
    METHODS,
    WrongProfilesCase,
    grid,
    setting_of,
)
from tests.lab.experiments.test_powerflow import some_jobs

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "workload", lambda window: some_jobs())


def test_only_what_policies_believe_is_wrong() -> None:
    known, misled = (
        setting_of(WrongProfilesCase("powerflow", 0)),
        setting_of(WrongProfilesCase("powerflow", 0, 1)),
    )
    assert known.believed_profiles is known.profiles
    assert misled.profiles is known.profiles
    assert misled.believed_work.tolist() == known.believed_work.tolist()


def test_every_point_is_off_by_a_factor_of_its_own() -> None:
    misled = setting_of(WrongProfilesCase("powerflow", 0, 1))
    real, believed = misled.profiles, misled.believed_profiles
    off = [believed.throughput / real.throughput, believed.watts_per_gpu / real.watts_per_gpu]
    factors = np.concatenate([each[~np.isnan(each)] for each in off])
    assert len(np.unique(factors)) == len(factors) > 1000
    assert np.log(factors).std() == pytest.approx(0.25, rel=0.1)
    assert np.log(factors).mean() == pytest.approx(0.0, abs=0.03)


def test_draws_differ_and_repeat() -> None:
    first, again, other = (
        setting_of(WrongProfilesCase("afs", 2, draw)).believed_profiles for draw in (0, 0, 1)
    )
    assert np.array_equal(first.throughput, again.throughput, equal_nan=True)
    assert not np.array_equal(first.throughput, other.throughput, equal_nan=True)


def test_methods_are_those_of_the_experiment_beside() -> None:
    assert setting_of(WrongProfilesCase("powerflow", 0)).power_budget_w == math.inf
    assert setting_of(WrongProfilesCase(CAPPED, 0)).power_budget_w == 0.6 * settings.most_w()
    assert setting_of(WrongProfilesCase("fifo", 0)).jobs.gpus.tolist() == some_jobs().gpus.tolist()
    assert set(setting_of(WrongProfilesCase("afs", 0)).jobs.gpus.tolist()) == {1}
    assert len({case.name() for case in grid()}) == len(grid()) == 5 * 3 * 3


def _records(wrong_s: dict[str, float]) -> Records:
    """Two hours with true profiles; so many seconds more with wrong ones, twice in draw 1."""
    return {
        case.name(): {
            "summary": {"jct_mean_s": 7200.0 + (case.draw + 1) * wrong_s.get(case.method, 0.0)}
        }
        for case in grid()
    }


def test_the_bar_is_about_the_means_of_powerflow() -> None:
    # Draws add 2400 s and 4800 s: 10,800 s in the mean, 1.5 times as much.
    found = wrong_profiles.findings(_records({"powerflow": 2400.0, CAPPED: 2401.0, "afs": 9e9}))
    assert [bar.value.mean for bar in found.bars] == pytest.approx([1.5, 1.5], rel=1e-3)
    assert [bar.holds for bar in found.bars] == [True, False]
    (table,) = found.tables
    assert [row[0] for row in table.rows] == ["method", *METHODS]
    assert table.rows[1][1:4] == ["2", "3", "1.5"]


def test_a_job_is_not_pinned_to_few_gpus_by_wrong_points() -> None:
    """Jobs of a day and more, in a cluster that has room for all of them."""
    known, misled = (
        wrong_profiles.run_case(WrongProfilesCase("powerflow", 0, draw))["summary"]["jct_mean_s"]
        for draw in (wrong_profiles.TRUE, 0)
    )
    assert misled <= 1.5 * known
